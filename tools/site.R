# Builds the site of the package without the network: `Rscript tools/site.R [folder]`, with the
# package and pkgdown installed.
folder <- c(commandArgs(TRUE), "docs")[1]
options(pkgdown.internet = FALSE)
# Equations of articles as MathML, which browsers show by themselves.
article_format <- pkgdown:::build_rmarkdown_format
utils::assignInNamespace("build_rmarkdown_format", function(...) {
  format <- article_format(...)
  arguments <- format$pre_processor
  format$pre_processor <- function(...) sub("^--mathjax$", "--mathml", arguments(...))
  format
}, "pkgdown")
pkgdown::build_site(".", install = FALSE, new_process = FALSE, preview = FALSE, devel = FALSE,
                    override = list(destination = normalizePath(folder, mustWork = FALSE)))
