# Builds the site of the package without the network: `Rscript tools/site.R [folder]`, with the
# package, pkgdown and pandoc installed. Search and equations work offline too.
folder <- normalizePath(c(commandArgs(TRUE), "docs")[1], mustWork = FALSE)
options(pkgdown.internet = FALSE, warn = 1)

# Equations as MathML, which browsers show by themselves: those of articles by pandoc's own option,
# those of help pages one by one.
article_format <- pkgdown:::build_rmarkdown_format
utils::assignInNamespace("build_rmarkdown_format", function(...) {
  format <- article_format(...)
  # The ending of a figure's file is that of its device, which an article may choose.
  format$knitr$opts_chunk$fig.ext <- NULL
  arguments <- format$pre_processor
  format$pre_processor <- function(...) sub("^--mathjax$", "--mathml", arguments(...))
  format
}, "pkgdown")

mathml <- function(x, fence, ...) {
  tex <- gsub("&lt;", "<", gsub("&gt;", ">", gsub("&amp;", "&", pkgdown:::flatten_text(x[[1]]))))
  said <- system2(rmarkdown::pandoc_exec(), c("--from", "markdown", "--to", "html", "--mathml"),
                  input = paste0(fence, trimws(tex), fence), stdout = TRUE)
  gsub("</?p>", "", paste(said, collapse = " "))
}
as_mathml <- list(tag_eqn = function(x, ...) mathml(x, "$"),
                        tag_deqn = function(x, ...) paste0("<p>", mathml(x, "$$"), "</p>"))
for (class in names(as_mathml))
  registerS3method("as_html", class, as_mathml[[class]], asNamespace("pkgdown"))

# The text of a section with items, such as "Value", is not broken where a line ends with a link.
describe_contents <- function(x, ...) {
  item <- vapply(x, inherits, NA, "tag_item")
  said <- which(!vapply(x, pkgdown:::is_whitespace, NA))
  # Space belongs to what follows it.
  in_list <- c(item[said], TRUE)[findInterval(seq_along(x) - 1, said) + 1]
  pieces <- split(x, cumsum(c(TRUE, diff(in_list) != 0)))
  paste(unlist(lapply(unname(pieces), function(piece)
    if (any(vapply(piece, inherits, NA, "tag_item")))
      paste0("<dl>\n", pkgdown:::parse_descriptions(piece, ...), "</dl>")
    else pkgdown:::flatten_para(piece, ...))), collapse = "\n")
}
utils::assignInNamespace("describe_contents", describe_contents, "pkgdown")

# The index keeps whole sentences, which the search shows.
utils::assignInNamespace("strip_stop_words", identity, "pkgdown")

pkgdown::build_site(".", install = FALSE, new_process = FALSE, preview = FALSE, devel = FALSE,
                    override = list(destination = folder))

# What the device of the examples leaves behind.
unlink(Sys.glob(file.path(folder, "reference", "Rplot*.png")))

# The index of the search as a script, which a page can load from a disk too.
index <- paste(readLines(file.path(folder, "search.json"), encoding = "UTF-8"), collapse = "")
writeLines(paste0("siteIndex = ", index), file.path(folder, "search.js"), useBytes = TRUE)
