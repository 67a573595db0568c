#!/usr/bin/env Rscript
# Runs the core's own tests, or R CMD check, on other platforms, by name, and keeps what they found:
#
#   Rscript tools/platforms.R list      the platforms
#   Rscript tools/platforms.R arm64     one of them
#   Rscript tools/platforms.R core      all that take minutes: the core's tests, cross-compiled, in emulators
#   Rscript tools/platforms.R ci        three of these, of which nothing is kept
#
# Debian and root are needed: compilers, emulators and the newer Debian come from the mirror that apt uses. What is made
# for it is kept in the folder that FUMI_PLATFORMS names, or in R's cache folder. The exit status is 1 if a test failed.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
source(file.path(dirname(gsub("~+~", " ", script, fixed = TRUE)), "setup.R"), chdir = TRUE)
source(file.path(root, "tools", "jobs.R"))

cache <- Sys.getenv("FUMI_PLATFORMS", tools::R_user_dir("fumi-platforms", "cache"))
dir.create(cache, recursive = TRUE, showWarnings = FALSE)
cache <- normalizePath(cache)

# ---- the core, cross-compiled ---------------------------------------------------------------------

warnings <- "-Wall -Wextra -Wpedantic -Wshadow -Werror"
core_flags <- paste("-DFUMI_STANDALONE -I../src", warnings)

# All tests of ctest/, by a compiler whose programs `runner` starts. The reference BLAS and LAPACK are compiled for it.
core_tests <- function(name, gcc, fortran, runner = "", flags = "", exe = "", env = character()) {
  library <- reference_lapack(name, fortran, gcc)
  out <- make_core(file.path("build", name), gcc, paste("-std=c99 -O2 -static", flags), library, runner, exe, env)
  got <- core_checks(out)
  found(sprintf("checks of the core without R %s, at -O2 by %s, no warnings at -Wall -Wextra -Wpedantic", where(runner), version_of(gcc)),
        got[["checks"]], got[["failures"]])
}

make_core <- function(build, cc, flags, libraries, runner = "", exe = "", env = character(), inside = character(), folder = root) {
  variables <- c(CC = cc, BUILD = build, CFLAGS = paste(core_flags, flags), LDLIBS = paste(libraries, "-lm"), RUNNER = runner,
                 EXE = exe, if (asked == "ci") c(TESTS = paste(quick_tests(folder), collapse = " ")))
  command <- c(inside, "make", "-C", shQuote(file.path(folder, "ctest")), "--no-print-directory", "-j2", "run",
               shQuote(paste0(names(variables), "=", variables)))
  cat("make -C ctest run with ", cc, ": ", flags, "\n", sep = "")
  suppressWarnings(system2(command[1], command[-1], stdout = TRUE, stderr = TRUE, env = env))
}

# For CI: all except faults at every allocation and replayed inputs, which take minutes and do not
# depend on the processor.
quick_tests <- function(folder) {
  all <- sub("[.]c$", "", list.files(file.path(folder, "ctest"), "^test_.*[.]c$"))
  setdiff(all, c("test_faults", "test_fuzz"))
}

where <- function(runner) if (nzchar(runner)) paste("under", sub(" .*", "", runner)) else "on this processor"

version_of <- function(cc, inside = character()) {
  command <- c(inside, strsplit(cc, " ")[[1]], "--version")
  sub(" *\\(.*\\)", "", system2(command[1], command[-1], stdout = TRUE)[1])
}

# ---- reference BLAS and LAPACK --------------------------------------------------------------------

# The routines that core_linalg.h calls, and those that they call, as a static library made by a Fortran compiler.
reference_lapack <- function(name, fortran, gcc) {
  library <- file.path(cache, paste0("liblapack-", name, ".a"))
  if (file.exists(library)) return(library)
  objects <- tempfile("lapack")
  dir.create(objects)
  before <- setwd(objects)
  on.exit(setwd(before))
  timed(paste("compiling the reference LAPACK by", fortran), {
    for (source in lapack_files()) call_tool(fortran, "-O2 -fno-stack-protector -c", source)
    # The library's handling of wrong arguments would need the Fortran run time.
    writeLines(c("#include <stdlib.h>", "void xerbla_(void) { abort(); }"), "xerbla.c")
    call_tool(gcc, "-c xerbla.c")
    call_tool("ar", "rcs", library, list.files(pattern = "[.]o$"))
  })
  library
}

call_tool <- function(command, ...) {
  if (system(paste(command, paste(c(...), collapse = " "))) != 0) stop(command, " failed", call. = FALSE)
}

# The files of LAPACK whose routines are needed, modules first: those that core_linalg.h names and, since each file bears
# its routine's name, all that the code of such a file names.
lapack_files <- function() {
  folders <- file.path(lapack_source(), c("BLAS/SRC", "SRC", "INSTALL"))
  files <- list.files(folders, "[.](f|f90|F90)$", full.names = TRUE)
  names(files) <- tolower(sub("[.].*", "", basename(files)))
  header <- readLines(file.path(root, "src", "core_linalg.h"))
  needed <- intersect(sub(".*F77_CALL\\(([a-z0-9]+)\\).*", "\\1", grep("F77_CALL", header, value = TRUE)), names(files))
  repeat {
    more <- setdiff(intersect(unlist(lapply(files[needed], words)), names(files)), c(needed, "xerbla"))
    if (length(more) == 0) break
    needed <- c(needed, more)
  }
  modules <- sort(grep("^la_", needed, value = TRUE))
  shQuote(files[c(modules, setdiff(needed, modules))])
}

words <- function(file) {
  code <- sub("!.*", "", grep("^[*cC!]", readLines(file, warn = FALSE), value = TRUE, invert = TRUE))
  unique(tolower(unlist(strsplit(code, "[^A-Za-z0-9_]+"))))
}

# Debian's source package, by an apt that has lists of its own.
lapack_source <- function() {
  found <- function() list.files(cache, "^lapack-[0-9].*[0-9]$", full.names = TRUE)
  if (length(found())) return(found()[1])
  lists <- file.path(cache, "apt")
  dir.create(file.path(lists, "partial"), recursive = TRUE, showWarnings = FALSE)
  mirror <- debian_mirror()
  sources <- file.path(cache, "sources.list")
  writeLines(paste("deb-src", mirror[["uri"]], mirror[["release"]], "main"), sources)
  own <- c("-o", paste0("Dir::Etc::SourceList=", sources), "-o", "Dir::Etc::SourceParts=/dev/null",
           "-o", paste0("Dir::State::Lists=", lists), "-o", "APT::Sandbox::User=root")
  before <- setwd(cache)
  on.exit(setwd(before))
  timed("getting the sources of LAPACK", {
    apt_get("update", own)
    apt_get("source", "--download-only", own, "lapack")
    for (archive in list.files(pattern = "^lapack_.*[.]orig[.]tar")) utils::untar(archive)
  })
  if (length(found()) == 0) stop("the sources of LAPACK could not be had", call. = FALSE)
  found()[1]
}

# ---- platforms ------------------------------------------------------------------------------------

jobs <- list()

# Debian's cross-compilers for a triplet, whose C library is named by Debian's word for the processor.
cross_compiler <- function(triplet, processor) {
  need(system = c(paste0(c("gcc-", "gfortran-"), triplet), sprintf("libc6-dev-%s-cross", processor), "make"))
  paste0(triplet, c("-gcc", "-gfortran"))
}

jobs$arm64 <- function() {
  cross <- cross_compiler("aarch64-linux-gnu", "arm64")
  need(system = "qemu-user-static")
  core_tests("arm64", cross[1], cross[2], "qemu-aarch64-static")
}

# Big-endian.
jobs$s390x <- function() {
  cross <- cross_compiler("s390x-linux-gnu", "s390x")
  need(system = "qemu-user-static")
  core_tests("s390x", cross[1], cross[2], "qemu-s390x-static")
}

# Pointers of 32 bits, with SSE, and with the x87, whose registers are wider than a double. Vectors
# are returned differently there (-Wpsabi), which does not matter because no function returns one
# outside its file.
jobs$i386 <- function() {
  cross <- cross_compiler("i686-linux-gnu", "i386")
  core_tests("i386", cross[1], cross[2], flags = "-msse2 -mfpmath=sse")
}

jobs$x87 <- function() {
  cross <- cross_compiler("i686-linux-gnu", "i386")
  core_tests("x87", cross[1], cross[2], flags = "-mfpmath=387 -Wno-psabi")
}

# The wide kernels too, as Makevars.win has them built; their object code is searched for moves that need alignment.
jobs$windows <- function() {
  need(system = c("gcc-mingw-w64-x86-64", "gfortran-mingw-w64-x86-64", wine = "wine", "wine64", "make"))
  call_tool("make", "-C", shQuote(file.path(root, "ctest")), "--no-print-directory windows")
  core_tests("windows", "x86_64-w64-mingw32-gcc", "x86_64-w64-mingw32-gfortran", "wine",
             flags = "-DFUMI_UNALIGNED_MOVES -Wa,-muse-unaligned-vector-move", exe = ".exe",
             env = c("WINEDEBUG=-all", paste0("WINEPREFIX=", file.path(cache, "wine"))))
}

# Fortran is compiled for the other C library, but uses none of its functions.
jobs$musl <- function() {
  need(system = c("musl-tools", gfortran = "gfortran", "make"))
  core_tests("musl", "musl-gcc", "gfortran")
}

core <- names(jobs)
ci <- c("arm64", "s390x", "windows")

# ---- the newest R and compilers -------------------------------------------------------------------

# Debian's unstable release in a folder of its own, with the packages; returns the command that runs another one inside.
debian_unstable <- function(packages) {
  need(system = c(debootstrap = "debootstrap", unshare = "util-linux"))
  folder <- file.path(cache, "unstable")
  if (!file.exists(file.path(folder, "etc", "apt", "sources.list"))) {
    timed(paste("installing Debian unstable into", folder), call_tool(
      "debootstrap --variant=minbase unstable", shQuote(folder), shQuote(debian_mirror()[["uri"]]), "> /dev/null"))
  }
  # A mirror may be older than the validity date of its package list.
  writeLines('Acquire::Check-Valid-Until "false";', file.path(folder, "etc", "apt", "apt.conf.d", "99old-mirror"))
  certificates <- Sys.getenv("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt")
  for (file in c("/etc/resolv.conf", "/etc/hosts", certificates)) copy_into(folder, file)
  inside <- c("unshare", "--mount", "sh", "-c",
              shQuote('mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"'), shQuote(folder),
              "env", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive")
  timed("bringing it up to date", {
    apt_get("update", inside = inside)
    apt_get("install", "--yes", "--no-install-recommends", packages, inside = inside)
  })
  # After the packages, one of which writes this file anew.
  copy_into(folder, certificates)
  structure(inside, folder = folder)
}

copy_into <- function(folder, file) {
  if (!file.exists(file)) return()
  dir.create(file.path(folder, dirname(file)), recursive = TRUE, showWarnings = FALSE)
  file.copy(file, file.path(folder, file), overwrite = TRUE)
}

# The sources in it, with R's choice of a CRAN mirror; returns the folder's name in there.
sources_inside <- function(inside) {
  folder <- attr(inside, "folder")
  unlink(file.path(folder, "fumi"), recursive = TRUE)
  file.copy(copy_of_package(), folder, recursive = TRUE)
  writeLines(sprintf("options(repos = %s)", paste(deparse(getOption("repos")), collapse = "")), file.path(folder, "repos.R"))
  "/fumi"
}

# Warnings of the compiler for the whole package, glue too, built with the newest R.
package_warnings <- function(inside, cc, folder) {
  flags <- file.path(attr(inside, "folder"), "flags")
  writeLines(c(paste("CC =", cc), "CFLAGS = -O2 -Wall -Wextra -Wpedantic -Wno-unknown-warning-option"), flags)
  out <- run_inside(inside, "cd src && rm -f *.o && R_MAKEVARS_USER=/flags R CMD SHLIB -o fumi.so *.c", folder)
  warned <- grep("^[a-z_0-9.]+:[0-9]+:[0-9]+: (warning|error)", out, value = TRUE)
  writeLines(utils::head(warned, 20))
  length(warned) + !is.null(attr(out, "status"))
}

# A line of shell in the folder of the sources.
run_inside <- function(inside, line, folder) {
  command <- c(inside, "R_PROFILE_USER=/repos.R", "sh", "-c", shQuote(paste("cd", folder, "&&", line)))
  suppressWarnings(system2(command[1], command[-1], stdout = TRUE, stderr = TRUE))
}

# gcc and clang, C99 and C23, with OpenMP; and the package with R's headers.
jobs$compilers <- function() {
  inside <- debian_unstable(c("r-base-dev", "clang", "libomp-dev", "libblas-dev", "liblapack-dev", "make"))
  folder <- sources_inside(inside)
  checks <- failures <- warned <- 0
  for (cc in c("gcc", "clang")) {
    for (standard in c("c99", "c23")) {
      out <- make_core(paste0("build/", cc, standard), cc, paste0("-std=", standard, " -O2 -fopenmp"), "-llapack -lblas",
                       inside = inside, folder = folder)
      got <- core_checks(out)
      checks <- checks + got[["checks"]]
      failures <- failures + got[["failures"]]
      warned <- warned + package_warnings(inside, paste0(cc, " -std=", standard), folder)
    }
  }
  found(sprintf("checks of the core by %s and %s, -std=c99 and -std=c23; %d warnings at -Wall -Wextra -Wpedantic, of the package as a whole too",
                version_of("gcc", inside), version_of("clang", inside), as.integer(warned)), checks, failures + warned)
}

jobs$`newest-r` <- function() {
  inside <- debian_unstable(c("r-base-dev", "r-cran-testthat", "r-cran-knitr", "r-cran-rmarkdown",
                              "r-cran-v8"))
  folder <- sources_inside(inside)
  cat("R CMD check --as-cran ...\n")
  out <- run_inside(inside, "bash tools/check.sh", folder)
  checks <- grep("^\\* checking .* [.][.][.]", out, value = TRUE)
  status <- sub("^Status: ", "", c(grep("^Status: ", out, value = TRUE), "did not end"))[1]
  failed <- !is.null(attr(out, "status")) || status == "did not end"
  if (failed) writeLines(utils::tail(out, 60))
  found(sprintf("checks of `R CMD check --as-cran` in %s: %s", sub(" \\(.*", "", run_inside(inside, "R --version", folder)[1]), status),
        length(checks), as.integer(failed))
}

# ---- by name --------------------------------------------------------------------------------------

asked <- c(commandArgs(TRUE), "list")[1]
if (asked == "list") {
  writeLines(c(names(jobs), "core", "ci"))
} else {
  names <- switch(asked, core = core, ci = ci, asked)
  if (!all(names %in% names(jobs))) stop("no platform ", asked, ": `list` names them", call. = FALSE)
  failures <- vapply(names, function(name) run_job("platforms.R", jobs[[name]], name, keep = asked != "ci"), 0)
  if (asked != "ci") system2(file.path(R.home("bin"), "Rscript"), shQuote(c(file.path(root, "tools", "hardening.R"), "report")))
  quit(status = as.integer(any(failures > 0)))
}
