#!/usr/bin/env Rscript
# How close two epochs of mini-batches come to 100 iterations over all instances, both of variant
# "exact" from the same start: the ratio of the objectives (eq. 4), with codes and p solved anew
# for each dictionary, and of the times. Appends its rows to bench/results/online.csv. The package
# must be installed.
library(fumi)

core <- asNamespace("fumi")

# E[F] of all instances under a dictionary: E-step and codes in turn, from 0, until p is at rest.
value <- function(b, fit) {
  spec <- fit[c("n_target", "n_background", "lambda", "beta", "gamma", "psi")]
  par <- core$dlfumi_par(c(spec, list(control = dlfumi_control("exact"))))
  scale <- core$instance_scale(b$x, "unit")
  dictionary <- unname(fit$dictionary)
  out <- list(codes = matrix(0, ncol(dictionary), ncol(b$x)), p_next = numeric(b$n_positive))
  for (round in 1:8)
    out <- .Call(core$ffi_dlfumi_pass, b$x, scale, b$n_positive, "paper", dictionary, out$codes,
                 out$p_next, par, NULL, NULL, NULL)
  out$terms[1] + fit$lambda * out$terms[2]
}

fit <- function(b, seed, n_target, n_background, control) {
  set.seed(seed)
  cpu <- system.time(fit <- suppressWarnings(
    dlfumi(b, n_target = n_target, n_background = n_background, control = control,
           progress = FALSE)))
  list(cpu = sum(cpu[1:2]), value = value(b, fit))
}

compare <- function(name, b, n_target, n_background,
                    seeds = 1:3) do.call(rbind, lapply(seeds, function(seed) {
  whole <- fit(b, seed, n_target, n_background, dlfumi_control("exact", max_iter = 100, tol = 0))
  online <- fit(b, seed, n_target, n_background, dlfumi_control("exact", batch = 512, epochs = 2))
  row <- data.frame(date = format(Sys.Date()), data = name, features = nrow(b$x),
                    instances = ncol(b$x),
                    atoms = n_target + n_background, seed,
                    ratio = round(online$value / whole$value, 6),
                    cpu_whole = round(whole$cpu, 2), cpu_online = round(online$cpu, 2))
  print(row, row.names = FALSE)
  row
}))

large <- function() {
  set.seed(5)
  sim_bags(500, 100, n_features = 256, n_target = 10, n_background = 50)
}

rows <- rbind(do.call(rbind, lapply(c(0, 3, 8), function(digit)
  compare(paste("USPS digit", digit), paper_bags("usps", 1, digit)[[1]], 4, 15))),
  compare("simulated", large(), 10, 50, seeds = 1:2))
script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
out <- file.path(dirname(script), "results", "online.csv")
utils::write.table(rows, out, sep = ",", row.names = FALSE, append = file.exists(out),
                   col.names = !file.exists(out))
