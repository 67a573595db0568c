#!/usr/bin/env bash
# Instructions of each operation of the portable and of the NEON kernel, at the sizes of a block of
# `usps`, counted by an emulator of 64-bit ARM:
#
#   bash bench/instructions.sh > bench/results/neon.csv
#
# gnu17 is how R builds packages: gcc makes fused multiply-adds of s + x y. c99 is how ctest/ builds
# the core, without them. A count is the difference between two runs and one.
set -euo pipefail
cd "$(dirname "$0")/../src"
program=$(mktemp)
trap 'rm -f "$program"' EXIT

count() { { qemu-aarch64-static -singlestep -d exec,nochain "$program" "$@" 2>&1 || true; } | grep -c '^Trace'; }

echo date,commit,standard,operation,portable,neon,ratio
for standard in ${*:-gnu17 c99}; do
  aarch64-linux-gnu-gcc -std=$standard -O2 -static -DFUMI_STANDALONE -I. ../bench/operations.c core_kernel*.c -lm -o "$program"
  for operation in project ista ista_positive quadratic residual inner accumulate gram correlate; do
    for kernel in 0 1; do
      one=$(count $kernel $operation 1)
      two=$(count $kernel $operation 2)
      counts[kernel]=$((two - one))
    done
    awk -v what="$(date +%F),$(git rev-parse --short HEAD),$standard,$operation" -v portable="${counts[0]}" -v neon="${counts[1]}" \
      'BEGIN { printf "%s,%d,%d,%.3f\n", what, portable, neon, neon / portable }'
  done
done
