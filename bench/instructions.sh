#!/usr/bin/env bash
# Instructions of each operation of the NEON kernel, and of the portable one of today and of version
# 0.1.0, at the sizes of a block of `usps`, counted by an emulator of 64-bit ARM:
#
#   bash bench/instructions.sh > bench/results/neon.csv
#
# gnu17 is how R builds packages: gcc makes fused multiply-adds of s + x y. c99 is how ctest/ builds
# the core, without them. A count is the difference between two runs and one.
set -euo pipefail
cd "$(dirname "$0")/.."
first_version=640aaac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for file in core.h core_kernel.h core_kernel.c; do git show $first_version:src/$file > "$work/$file"; done

# build <program> <folder of the core> <flags...>
build() { aarch64-linux-gnu-gcc -O2 -static -DFUMI_STANDALONE -I"$2" "${@:3}" bench/operations.c "$2"/core_kernel*.c -lm -o "$1"; }
traces() { { qemu-aarch64-static -singlestep -d exec,nochain "$@" 2>&1 || true; } | grep -c '^Trace'; }
# count <program> <kernel> <operation>
count() { echo $(($(traces "$@" 2) - $(traces "$@" 1))); }
# row <commit of the portable kernel> <its instructions> <those of NEON>
row() {
  awk -v what="$(date +%F),$(git rev-parse --short HEAD),$standard,$operation,$1" -v portable="$2" -v neon="$3" \
    'BEGIN { printf "%s,%d,%d,%.3f\n", what, portable, neon, neon / portable }'
}

echo date,commit,standard,operation,portable_of,portable,neon,ratio
for standard in ${*:-gnu17 c99}; do
  build "$work/today" src -std=$standard
  build "$work/before" "$work" -std=$standard -DVERSION_0_1_0
  for operation in project ista ista_positive quadratic residual inner accumulate gram correlate; do
    neon=$(count "$work/today" 1 $operation)
    row "$(git rev-parse --short HEAD)" "$(count "$work/today" 0 $operation)" "$neon"
    [[ $operation == residual ]] || row $first_version "$(count "$work/before" 0 $operation)" "$neon"
  done
done
