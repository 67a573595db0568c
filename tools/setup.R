# Sourced by the other scripts, with chdir = TRUE: gets the packages and tools
# they need, and installs this package from its own source tarball.

root <- dirname(getwd())
# A warning is shown where it arises, so it cannot come after a script's last line.
options(warn = 1)

# What R packages are compiled with, which a machine may lack that has R.
compilers <- c(make = "make", gcc = "build-essential", gfortran = "gfortran", "libblas-dev",
               "liblapack-dev")

# Makes sure that R packages and system tools are there. A package that cannot be installed is an
# error; a missing tool is not, because most scripts can do part of their work without it.
# `system`: names of Debian packages; the name of an element is the command that shows that the
# tool is already there.
need <- function(packages = character(), system = character()) {
  need_tools(system)
  for (install in list(from_debian, from_cran)) {
    lacking <- missing_packages(packages)
    if (length(lacking) > 0) install(lacking)
  }
  use_libraries(new_r("writeLines(.libPaths())"))
  lacking <- missing_packages(packages)
  if (length(lacking) > 0) {
    stop("these R packages are needed and could not be installed: ", toString(lacking),
         call. = FALSE)
  }
}

# The packages that a dependency field of DESCRIPTION names, without R itself.
described <- function(field) {
  entries <- strsplit(description(field), ",")[[1]]
  setdiff(trimws(sub("\\(.*", "", entries)), c("R", "", NA))
}

description <- function(field) {
  read.dcf(file.path(root, "DESCRIPTION"), fields = field)[[1]]
}

# Builds this package's tarball and installs it from there: what is tested is
# what a user gets, so a file that .Rbuildignore drops by mistake is noticed.
install_own <- function(lib, vignettes = FALSE) {
  dir.create(lib, recursive = TRUE, showWarnings = FALSE)
  work <- tempfile("build")
  dir.create(work)
  before <- setwd(work)
  on.exit(setwd(before))
  r_cmd("build", if (!vignettes) "--no-build-vignettes", shQuote(root))
  r_cmd("INSTALL", paste0("--library=", shQuote(lib)),
        shQuote(list.files(pattern = "[.]tar[.]gz$")))
}

r_cmd <- function(command, ...) {
  log <- tempfile(command)
  timed(paste("R CMD", command), {
    status <- system2(file.path(R.home("bin"), "R"), c("CMD", command, ...), stdout = log,
                      stderr = log)
  })
  if (status != 0) {
    writeLines(readLines(log))
    stop("R CMD ", command, " failed", call. = FALSE)
  }
}

# One line per action, begun before the wait and completed with the seconds.
timed <- function(action, expr) {
  cat(action, "... ")
  flush(stdout())
  seconds <- system.time(expr)[["elapsed"]]
  cat(round(seconds), "s\n")
}

# ---- libraries ----

# R_LIBS hands the libraries on to every R process started from here.
use_libraries <- function(paths) {
  .libPaths(paths)
  Sys.setenv(R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep))
}

# A new process sees libraries and packages installed a moment ago, and loads nothing into this one
# that may still have to be replaced.
new_r <- function(code, ...) {
  use_libraries(.libPaths())
  system2(file.path(R.home("bin"), "Rscript"), c("-e", shQuote(code), ...), stdout = TRUE,
          stderr = FALSE)
}

missing_packages <- function(packages) {
  if (length(packages) == 0) return(packages)
  code <- "for (p in commandArgs(TRUE)) if (requireNamespace(p, quietly = TRUE)) writeLines(p)"
  setdiff(packages, new_r(code, packages))
}

writable_library <- function() {
  writable <- .libPaths()[file.access(.libPaths(), 2) == 0]
  if (length(writable) > 0) return(writable[[1]])
  own <- path.expand(strsplit(Sys.getenv("R_LIBS_USER"), .Platform$path.sep)[[1]][1])
  if (is.na(own) || !dir.create(own, recursive = TRUE)) {
    stop("no R library can be written to, and R_LIBS_USER names none that can be made",
         call. = FALSE)
  }
  use_libraries(c(own, .libPaths()))
  own
}

from_cran <- function(packages) {
  if (is.na(getOption("repos")["CRAN"]) || getOption("repos")["CRAN"] == "@CRAN@") {
    chooseCRANmirror(ind = 1, local.only = TRUE)
  }
  options(timeout = max(300, getOption("timeout")))
  # testthat depends on fs, which otherwise looks for libuv on the system.
  Sys.setenv(USE_BUNDLED_LIBUV = "1")
  lib <- writable_library()
  cores <- max(1, parallel::detectCores(), na.rm = TRUE)
  timed(paste("installing", toString(packages), "from CRAN into", lib), {
    suppressMessages(install.packages(packages, lib = lib, quiet = TRUE, Ncpus = cores))
  })
}

# ---- Debian and Ubuntu ----

from_debian <- function(packages) {
  # Where the system's R keeps its packages: useless for another R, or if the library path does not
  # include it.
  library <- "/usr/lib/R/site-library"
  site <- strsplit(Sys.getenv("R_LIBS_SITE"), .Platform$path.sep)[[1]]
  if (normalizePath(R.home()) == "/usr/lib/R" && library %in% c(.libPaths(), site) && can_apt()) {
    apt_install(paste0("r-cran-", tolower(packages)), label = packages)
  }
}

need_tools <- function(system) {
  lacking <- missing_tools(system)
  if (length(lacking) > 0 && can_apt()) {
    apt_install(lacking)
    lacking <- missing_tools(system)
  }
  if (length(lacking) > 0) {
    cat("going on without ", toString(lacking), ": not here, and not installed",
        if (!can_apt()) " (that takes root and apt-get)", "\n", sep = "")
  }
}

missing_tools <- function(system) {
  command <- if (is.null(names(system))) character(length(system)) else names(system)
  there <- ifelse(nzchar(command), nzchar(Sys.which(command)), vapply(system, debian_has, NA))
  unname(system[!there])
}

# Without dpkg this cannot be checked; the build itself will show it.
debian_has <- function(package) {
  if (!nzchar(Sys.which("dpkg-query"))) return(TRUE)
  query <- c("-W", shQuote("-f=${Status}"), package)
  status <- suppressWarnings(system2("dpkg-query", query, stdout = TRUE, stderr = FALSE))
  any(grepl("install ok installed", status, fixed = TRUE))
}

can_apt <- function() {
  nzchar(Sys.which("apt-get")) && Sys.info()[["effective_user"]] == "root"
}

# Installs those of the packages that apt knows, all in one call.
apt_install <- function(packages, label = packages) {
  apt_update()
  known <- packages %in% system2("apt-cache", "pkgnames", stdout = TRUE)
  if (any(known)) {
    timed(paste("installing", toString(label[known]), "from Debian"), {
      apt_get("install", "--yes", "--no-install-recommends", packages[known])
    })
  }
}

apt_update <- local({
  done <- FALSE
  function() {
    if (!done) timed("updating Debian's package lists", apt_get("update"))
    done <<- TRUE
  }
})

# A failure is shown but does not stop the script: what is missing is checked afterwards. `inside`:
# a command that runs another one in a system of its own.
apt_get <- function(..., inside = character()) {
  log <- tempfile("apt")
  command <- c(inside, "apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300", ...)
  status <- system2(command[1], command[-1], stdout = log, stderr = log, stdin = "/dev/null",
                    env = "DEBIAN_FRONTEND=noninteractive")
  if (status != 0) cat("failed:", tail(readLines(log), 5), sep = "\n")
}

# Debian's mirror that apt is set up for, and the release: c(uri, release).
debian_mirror <- function() {
  format <- shQuote("--format=$(REPO_URI) $(RELEASE)")
  lines <- system2("apt-get", c("indextargets", format,
                                shQuote(c("Identifier: Packages", "Origin: Debian",
                                          "Label: Debian"))), stdout = TRUE)
  if (length(lines) == 0)
    stop("apt knows no mirror of Debian; `apt-get update` may help", call. = FALSE)
  stats::setNames(strsplit(lines[1], " ")[[1]], c("uri", "release"))
}
