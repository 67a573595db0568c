#!/usr/bin/env bash
# R CMD check --as-cran of the package as it would be submitted. Fails on an ERROR, a WARNING, or
# any NOTE except the one that says that the package is new.
set -euo pipefail
exec </dev/null
cd "$(dirname "$0")/.."
root=$PWD
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

get_tools() {
  Rscript -e 'source("tools/setup.R", chdir = TRUE)' -e '
    need(c(described("Imports"), "knitr", "rmarkdown", "testthat"), system = c(
      pandoc = "pandoc", qpdf = "qpdf", tidy = "tidy",
      "texlive-latex-base", "texlive-latex-recommended", "texlive-fonts-recommended"
    ))
    tryCatch(need(described("Suggests")), error = function(e) cat(conditionMessage(e), "\n"))'
}

# The manual needs LaTeX with the fonts named in R_RD4PDF below.
has_latex() {
  command -v pdflatex && kpsewhich times.sty ptmr8t.tfm
} >/dev/null

# The parts of a check's log with an ERROR, a WARNING or a NOTE, except the NOTE that only says
# that the package is new.
offending() {
  awk '
    function close_part() {
      if (found && (other || !fresh)) printf "%s", part
      part = ""; found = other = fresh = 0
    }
    /^\* / { close_part() }
    /^Status:/ { next }
    /(^|[ .])(NOTE|WARNING|ERROR)$/ { found = 1 }
    /^New submission$/ { fresh = 1 }
    !/^(\* checking CRAN incoming feasibility .*NOTE|Maintainer: .*|New submission|)$/ { other = 1 }
    { part = part $0 "\n" }
    END { close_part() }
  ' "$1"
}

get_tools
options=(--as-cran)
has_latex || options+=(--no-manual)
cd "$scratch"
R CMD build "$root"
# R CMD check itself fails only on an ERROR, so its log is examined instead. Installed, the package
# takes more than the usual 5 MB: cran-comments.md says what for, and why not less. The first example
# that loads terra takes a second, and on a busy machine more than the five that are usual.
_R_CHECK_CRAN_INCOMING_REMOTE_=false _R_CHECK_SYSTEM_CLOCK_=0 _R_CHECK_FORCE_SUGGESTS_=false _R_CHECK_TESTS_NLINES_=0 \
  _R_CHECK_PKG_SIZES_THRESHOLD_=9 _R_CHECK_EXAMPLE_TIMING_THRESHOLD_=15 R_RD4PDF=times,hyper R CMD check "${options[@]}" ./*.tar.gz || true

log=$(echo "$scratch"/*.Rcheck/00check.log)
problems=$(offending "$log")
if [[ -n $problems ]] || ! grep -q '^Status: ' "$log" || grep -qE '^Status: .*(ERROR|WARNING)' "$log"; then
  printf 'R CMD check is not clean:\n%s\n' "$problems"
  exit 1
fi
