# Witnesses of positive bags. DEVIATES D9: Algorithm 1 looks at one instance at a time, and no step
# uses the fact that a positive bag holds a target. Here exactly one instance of each positive bag
# is taken for its target: the one with the highest score by fits that have not seen the bag, since
# a fit with many atoms reconstructs well whatever it has seen, target or not.

witness_folds <- 5
witness_starts <- 2

check_witnesses <- function(b, spec, call = rlang::caller_env()) {
  if (spec$witnesses == 0) return(invisible())
  if (inherits(b, "bag_shards"))
    stop_fumi("`witnesses` must be 0 for bags in parts.", class = "no_meaning", call = call)
  n_bags <- sum(b$label)
  if (n_bags < 2) stop_fumi("`witnesses` must be 0 when there is one positive bag.", call = call)
  n_seen <- seen_for_witnesses(n_bags)
  if (spec$n_target > n_seen)
    stop_fumi("`n_target` must be at most the number of positive bags that a fit sees when it ",
              "looks for `witnesses` (",
              n_seen, "), not ", spec$n_target, ".", call = call)
}

# Of `n` positive bags, how many the smallest fit that looks for witnesses sees.
seen_for_witnesses <- function(n) n - ceiling(n / min(witness_folds, n))

# `spec` with what is known of the instances of positive bags after `spec$witnesses` rounds.
find_witnesses <- function(b, spec, progress, call) {
  positive <- which(b$label)
  n_folds <- min(witness_folds, length(positive))
  bar <- task_progress(progress, "witnesses", spec$witnesses * n_folds)
  on.exit(bar$done())
  known <- spec
  for (round in seq_len(spec$witnesses)) {
    fold <- integer(length(b$ids))
    fold[positive] <- sample(rep_len(seq_len(n_folds), length(positive)))
    score <- numeric(b$n_positive)
    for (k in seq_len(n_folds)) {
      unseen <- which(fold[b$bag] == k)
      score[unseen] <- score_unseen(b, unseen, known, call)
      bar$tick(paste("round", round))
    }
    chosen <- best_of_bags(score, b$bag[seq_len(b$n_positive)], spec$prior)
    known <- with_witnesses(spec, b, chosen)
  }
  known
}

# Scores of the instances in the columns `unseen`, by a fit to all others.
score_unseen <- function(b, unseen, spec, call) {
  spec[c("n_start", "combine", "keep_background",
         "witnesses")] <- list(witness_starts, "average", FALSE, 0)
  spec["prior"] <- list(spec$prior[-unseen])
  spec["weight"] <- list(spec$weight[-unseen])
  fit <- suppressWarnings(dlfumi_bridge(take_columns(b, seq_along(b$bag)[-unseen]), spec, "paper",
                                        FALSE))
  if (fit$stop_reason == "interrupt") check_status("interrupt", call)
  score_instances(fit, b$x[, unseen, drop = FALSE], call = call)
}

# p = 1 for the witnesses (`chosen` is 1), else 0: the others are background. Where the noise has
# the background's shape, which the negatives tell, they are left out: they may be targets, too.
# With a large ridge the noise is nearly white, and the background is again learned from them.
with_witnesses <- function(spec, b, chosen) {
  spec$prior <- chosen
  if (spec$noise == "background" && (is.null(spec$ridge) || spec$ridge < 1)) {
    if (is.null(spec$weight)) spec$weight <- rep(1, length(b$bag))
    spec$weight[which(chosen == 0)] <- 0
  }
  spec
}

# 1 for the instance of each bag with the highest score, else 0. Where the prior that was given is
# 1 the target is known; where it is 0 there is none.
best_of_bags <- function(score, bag, given) {
  known <- numeric(length(score))
  for (of_bag in split(seq_along(bag), bag)) {
    told <- of_bag[given[of_bag] == 1]
    possible <- if (is.null(given)) of_bag else of_bag[given[of_bag] > 0]
    if (length(told)) known[told] <- 1
    else known[possible[which.max(score[possible])]] <- 1
  }
  known
}
