# The online form of a fit (Mairal et al. 2010): an iteration visits a mini-batch instead of all
# instances and blends its sums into those of all, U <- (1 - rho) U + rho (N / n) U_b and so S, for
# positive and for negative bags by themselves. Codes are recomputed at each visit; only p is kept
# from the previous one.

is_online <- function(control) !is.null(control$batch)

n_iterations <- function(b, control) {
  if (!is_online(control)) return(control$max_iter)
  control$epochs * n_batches(b, control)
}

# At least 80 mini-batches per epoch, because it takes that many steps.
batch_size <- function(b, control) min(control$batch, ceiling(length(b$bag) / 80))

# No mini-batch is empty: there are at most as many as instances of the commoner label.
n_batches <- function(b, control) {
  n <- length(b$bag)
  min(ceiling(n / batch_size(b, control)), max(b$n_positive, n - b$n_positive))
}

# The place of the instances of each part among all; bags in memory are one part.
places <- function(b) if (inherits(b, "bag_shards")) b$at else list(seq_along(b$bag))

# Adds to each start the order of its visits, so that all random numbers are drawn before the first
# one runs.
online_starts <- function(starts, b, control) {
  if (!is_online(control)) return(starts)
  lapply(starts, function(start) {
    epochs <- lapply(seq_len(control$epochs), function(epoch) draw_visits(b, n_batches(b, control)))
    visits <- unlist(epochs, recursive = FALSE)
    function() c(start(), list(visits = visits))
  })
}

# All instances once, in mini-batches with as many of each label as their share. Instances of a
# label come part by part, with parts and instances in random order, so that a visit needs one part
# per label, or two where a part begins.
draw_visits <- function(b, hands) {
  at <- places(b)
  deal <- function(positive) {
    drawn <- unlist(lapply(at[sample.int(length(at))], function(place) {
      place <- place[(place <= b$n_positive) == positive]
      place[sample.int(length(place))]
    }))
    unname(split(drawn, factor(ceiling(seq_along(drawn) * hands / length(drawn)), seq_len(hands))))
  }
  Map(function(positive, negative) list(positive = positive, negative = negative), deal(TRUE),
      deal(FALSE))
}

# rho of n visits: means over all instances so far, until these are enough for the atoms; then over
# that many of the last ones, to forget old dictionaries; in the second half over more and more, to
# average out noise.
step_lengths <- function(n, n_atoms, b, control) {
  enough <- max(10 * n_atoms, length(b$bag) / 40) / batch_size(b, control)
  visit <- seq_len(n)
  1 / pmax(1, pmin(visit, enough) + pmax(0, visit - n / 2))
}

# The last iteration visits all.
online_fit <- function(b, scale, start, spec, report, call) {
  visits <- start$visits
  spec$control[c("max_iter", "tol")] <- c(length(visits), 0)
  par <- dlfumi_par(spec)
  rho <- step_lengths(length(visits), ncol(start$dictionary), b, spec$control)
  n <- c(positive = b$n_positive, negative = length(b$bag) - b$n_positive)
  p <- numeric(b$n_positive)
  instances <- part_reader(b, scale, spec$normalize)
  read <- function(label, place) c(instances(label, place), list(
    weight = spec$weight[place], prior = if (label == "positive") spec$prior[place]))
  on.exit(shard_cache$parts <- shard_cache$known <- NULL)
  final <- NULL
  sums <- last <- taken <- list()
  k <- 0
  take_in <- function(now, D) {
    if (!is.null(now$positive)) p[now$positive$place] <<- now$positive$p_next
    for (label in names(now)) {
      sums[[label]] <<- blend(sums[[label]], now[[label]], n[[label]], rho[k])
      last[[label]] <<- now[[label]]
    }
    taken <<- list()
    add_labels(sums, D, unused = if (k <= length(visits) / spec$control$epochs) 1e-10 else 0)
  }
  pass <- function(kind, D) {
    k <<- k + 1
    if (k > length(visits)) (final <<- visit_all(b, read, p, D, par))$sums
    else take_in(visit(read, visits[[k]], p, D, par), D)
  }
  worst <- function(target, D) {
    label <- if (target) "positive" else "negative"
    from <- last[[label]]
    found <- .Call(ffi_dlfumi_worst, from$x, from$scale, length(from$p_next), target, D,
                   from$codes, from$p_next, as.integer(taken[[label]]), par, NULL)
    if (found$worst == 0) return(NULL)
    taken[[label]] <<- c(taken[[label]], found$worst)
    from$x[, found$worst]
  }
  out <- fit_kept(start, par, report, pass, worst, call)
  if (out$status == "nonfinite") return(out)
  if (out$status == "interrupt") final <- visit_all(b, read, p, out$dictionary, par)
  c(out, final[c("codes", "p")])
}

# A function read(label, place) that gives the instances at these places among all, and their
# scale. Of parts it holds one per label.
part_reader <- function(b, scale, normalize) {
  if (!inherits(b, "bag_shards"))
    return(function(label, place) list(x = b$x[, place, drop = FALSE], scale = scale[place]))
  part_of <- rep(seq_along(b$at), lengths(b$at))[order(unlist(b$at))]
  column_of <- unlist(lapply(b$at, seq_along))[order(unlist(b$at))]
  held <- list()
  hold <- function(label, i) {
    same <- Filter(function(part) part$number == i, held)
    held[[label]] <<- if (length(same)) same[[1]] else load_part(b, i, normalize)
    held[[label]]
  }
  function(label, place) {
    pieces <- lapply(unique(part_of[place]), function(i) {
      part <- hold(label, i)
      column <- column_of[place[part_of[place] == i]]
      list(x = part$x[, column, drop = FALSE], scale = part$scale[column])
    })
    list(x = do.call(cbind, lapply(pieces, `[[`, "x")),
         scale = unlist(lapply(pieces, `[[`, "scale")))
  }
}

load_part <- function(b, i, normalize) {
  part <- load_shard(list(key = b$key, numbers = i, load = b$load[i], keep = 1), 1)
  list(number = i, x = part$x, scale = shard_scale(part, normalize))
}

# What a pass over some instances gives, by label. Those of positive bags are coded twice, because
# their p comes from an older dictionary and is 0 (background atoms alone) at the first visit.
visit <- function(read, which, p, D, par) {
  look <- function(label, p) {
    place <- which[[label]]
    got <- read(label, place)
    out <- list(codes = matrix(0, ncol(D), length(place)), p_next = p)
    for (time in seq_len(if (length(p)) 2 else 1)) {
      out <- .Call(ffi_dlfumi_pass, got$x, got$scale, length(p), "paper", D, out$codes, out$p_next,
                   par, got$weight, got$prior, NULL)
      check_status(out$status)
    }
    c(out, got, list(place = place))
  }
  c(if (length(which$positive)) list(positive = look("positive", p[which$positive])),
    if (length(which$negative)) list(negative = look("negative", numeric())))
}

# `old` are sums over all n instances of a label, `now` those over some.
blend <- function(old, now, n, rho) {
  all <- n / length(now$scale)
  new <- list(U = all * now$U, S = all * now$S, terms = c(all, all, 1, all) * now$terms)
  if (!is.null(old)) new <- Map(function(a, b) (1 - rho) * a + rho * b, old[names(new)], new)
  c(new, now["status"])
}

# The sums over both labels. With `unused`, a share of the energy, an atom that no code uses stays
# as it is.
add_labels <- function(sums, D, unused) {
  total <- sum_parts(sums)
  if (is.null(total)) return(NULL)
  few <- unused * total$terms[4]
  total$U <- total$U + few * D
  total$S <- total$S + diag(few, ncol(D))
  total
}

# All instances under one dictionary: codes, p, sums; NULL if those are not finite.
visit_all <- function(b, read, p, D, par) {
  codes <- matrix(0, ncol(D), length(b$bag))
  total <- NULL
  for (at in places(b)) for (place in split(at, (seq_along(at) - 1) %/% 4096)) {
    which <- list(positive = place[place <= b$n_positive], negative = place[place > b$n_positive])
    now <- visit(read, which, p, D, par)
    for (one in now) codes[, one$place] <- one$codes
    if (!is.null(now$positive)) p[now$positive$place] <- now$positive$p
    total <- sum_parts(c(if (!is.null(total)) list(total), now))
    if (is.null(total)) return(NULL)
  }
  list(codes = codes, p = p, sums = total)
}
