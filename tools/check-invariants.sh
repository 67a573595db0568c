#!/usr/bin/env bash
# The rules of the architecture that a search can check: one line per rule, followed by the lines
# that break it. A file that does not exist breaks no rule.
set -euo pipefail
shopt -s nullglob
cd "$(dirname "$0")/.."
broken=0

# rule <what must hold> <the lines that break it>
rule() {
  if [[ -z $2 ]]; then
    echo "ok      $1"
  else
    printf 'broken  %s\n' "$1"
    sed 's/^/          /' <<<"$2"
    broken=1
  fi
}

# search <pattern>: grep that succeeds even if it finds nothing.
search() { grep -E "$1" || true; }

# C without its comments as file:line:text, so that a comment may name what
# the code may not use.
c_code() {
  local file
  for file in "$@"; do
    perl -0pe 's{/\*.*?\*/}{$& =~ s/[^\n]//gr}gse; s{//[^\n]*}{}g' "$file" | awk -v f="$file" '{ print f ":" NR ":" $0 }'
  done
}

# all_but <pattern of files> <files...>
all_but() { printf '%s\n' "${@:2}" | { grep -vx "$1" || true; }; }

# Tracked files and new ones; outside a git checkout, all files.
sources() { git ls-files -co --exclude-standard -- "$@" 2>/dev/null || find "$@" -type f 2>/dev/null || true; }

c_files=(src/*.c src/*.h)
core_files=(src/core*.c src/core*.h)
r_files=(R/*.R)

rule "R's C API is used in src/r_*.[ch] only" "$(
  c_code $(all_but 'src/r_.*' "${c_files[@]}") |
    search '[<"](R|Rinternals|Rdefines|Rmath)[.]h|\b(SEXP|(UN)?PROTECT|R_(alloc|[A-Z][A-Za-z]+)|RE?printf|Rf_[a-zA-Z]+)\b'
)"

rule 'nothing is protected by hand but in src/r_host.c' "$(
  c_code $(all_but src/r_host.c "${c_files[@]}") | search '\b(UN)?PROTECT|R_PreserveObject'
)"

rule 'BLAS and LAPACK are called in src/core_linalg.h only' "$(
  c_code $(all_but src/core_linalg.h "${c_files[@]}") |
    search '\b(F77_[A-Z]+|FCONE)\b|\bi?[sdz][a-z0-9]{2,6}_[[:space:]]*\('
)"

# A member of the host struct may have such a name: host->free() is allowed.
rule 'the core allocates, prints and draws nothing itself' "$(
  c_code "${core_files[@]}" |
    search '(^|[^>.[:alnum:]_])(malloc|calloc|realloc|free|[a-z]*printf|puts|s?rand|unif_rand)[[:space:]]*\('
)"

# At the start of a line: a variable's type and no parenthesis, unless that of a
# pointer to a function. Indented: a static inside a function.
rule 'src/ has no variable that outlives a call' "$(
  c_code "${c_files[@]}" |
    search ':[0-9]+:([[:space:]]*static|int|unsigned|long|size_t|char|double|float|struct [a-z_]+)\b([^(]*(=|;|\[)|[^(]*\(\*[a-z_]+\))' |
    { grep -vwE 'const|typedef|extern' || true; }
)"

deviations() {
  local maths=vignettes/dlfumi-math.Rmd tags rows
  [[ -f $maths ]] || return 0
  tags=$(cat "${c_files[@]}" "${r_files[@]}" /dev/null | { grep -oE 'DEVIATES D[0-9]+' || true; } | sed 's/.* //' | sort -u)
  rows=$({ grep -oE '^\| *D[0-9]+ *\|' "$maths" || true; } | tr -d '| ' | sort -u)
  comm -23 <(echo "$tags") <(echo "$rows") | sed "/./s|\$| is tagged in the code and has no row in $maths|"
  comm -13 <(echo "$tags") <(echo "$rows") | sed "/./s|\$| has a row in $maths and no tag in the code|"
}
rule 'each departure from the paper is tagged and has its row' "$(deviations)"

untested() {
  local name
  for name in $(all_but R/fumi-package.R "${r_files[@]}"); do
    name=$(basename "$name" .R)
    [[ -f tests/testthat/test-$name.R ]] || echo "R/$name.R has no tests/testthat/test-$name.R"
  done
}
rule 'each file of R/ has its file of tests' "$(untested)"

rule 'no file of src/ has more than 400 lines of C' "$(
  wc -l src/*.c | awk '$1 > 400 && $2 != "total"'
)"

untested_core() {
  local file
  for file in src/core_*.c; do
    [[ $file == src/core_kernel_* ]] || [[ -f ctest/test_${file#src/core_} ]] || echo "$file has no ctest/test_${file#src/core_}"
  done
}
rule 'each file of the core has its tests without R' "$(untested_core)"

unformatted() {
  local file
  command -v clang-format >/dev/null || { echo 'clang-format is not here to say so' && return; }
  for file in {src,ctest,bench,tools/reader}/*.[ch]; do
    clang-format --dry-run -Werror "$file" 2>/dev/null || echo "$file is not as .clang-format says"
  done
}
rule 'C is as .clang-format says' "$(unformatted)"

# Help pages that are not internal, and vignettes, by name or by a prefix.
unlisted() {
  local file name
  for file in $(grep -L 'keyword{internal}' man/*.Rd) vignettes/*.Rmd; do
    name=$(basename "${file%.*}")
    grep -qE "^  - ($name|starts_with\\(\"${name%%_*}_\"\))$" _pkgdown.yml || echo "$file is not in _pkgdown.yml"
  done
}
rule 'the site lists each help page and vignette' "$(unlisted)"

places='[.][.]/shared|(^|[^[:alnum:]_.])/(tmp|home|root|work)/'
hosts='(cran|cloud)[.]r-project[.]|rstudio[.]com|posit[.]co|r-universe[.]dev|bioconductor[.]org|pypi[.]org|pythonhosted[.]|debian[.]org'
rule 'no file names a place on one machine or a registry' "$(
  sources R src tests vignettes inst tools bench ctest data-raw .ci README.md |
    xargs -r -d '\n' grep -HnIE "$places|$hosts" 2>/dev/null || true
)"

# A call may break its line after the parenthesis, so each file is read as a whole.
foreign_calls() {
  local symbol
  perl -0ne 's/#[^\n]*//g;
    while (/(?<![\w.])\.(?:Call|External2?|C|Fortran)\(\s*(?!\s|ffi_)([^\s,)]*)/g) {
      printf "%s:%d: calls %s\n", $ARGV, 1 + (substr($_, 0, $-[0]) =~ tr/\n//), $1
    }' "${r_files[@]}" /dev/null
  for symbol in $(cat "${r_files[@]}" /dev/null | { grep -oE '\bffi_[a-z0-9_]+' || true; } | sort -u); do
    grep -qsw "$symbol" src/r_init.c || echo "$symbol is not registered in src/r_init.c"
  done
}
rule '.Call() takes symbols ffi_* that src/r_init.c registers' "$(foreign_calls)"

# "name n" of each .Call entry: as defined, with its n arguments, and as registered.
defined_entries() {
  perl -0ne 'while (/^SEXP (ffi_\w+)\(([^)]*)\)/gm) { my ($name, $args) = ($1, $2); my $n = () = $args =~ /SEXP/g; print "$name $n\n" }' \
    src/r_*.c /dev/null
}
registered_entries() { sed -nE 's/^ *entry\((ffi_[a-z0-9_]+), ([0-9]+)\).*/\1 \2/p' src/r_init.c /dev/null; }
rule 'src/r_init.c registers each entry, with as many arguments as it takes' "$(
  diff <(defined_entries | sort) <(registered_entries | sort) | { grep '^[<>]' || true; }
)"

exit "$broken"
