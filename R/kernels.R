# Kernels, from kernlab, and the distances that set their scale.

# Our names of kernlab's kernels, and the functions that make them.
kernel_makers <- c(linear = "vanilladot", rbf = "rbfdot", polydot = "polydot", tanhdot = "tanhdot",
                   laplacedot = "laplacedot", besseldot = "besseldot", anovadot = "anovadot",
                   splinedot = "splinedot")

kernel_maker <- function(name) getExportedValue("kernlab", kernel_makers[[name]])

# A kernel as list(name, kpar) of plain values; a function that kernlab did not make is its own
# name.
check_kernel <- function(kernel, kpar, call = rlang::caller_env()) {
  if (!is.list(kpar)) stop_fumi("`kpar` must be a list, not ", describe(kpar), ".", call = call)
  if (is.function(kernel)) {
    if (length(kpar))
      stop_fumi("`kpar` must be empty for a `kernel` that is a function.", call = call)
    maker <- sub("kernel$", "dot", class(kernel)[1])
    if (!maker %in% kernel_makers) return(list(name = kernel, kpar = kpar))
    return(list(name = names(kernel_makers)[kernel_makers == maker], kpar = kernlab::kpar(kernel)))
  }
  if (is.character(kernel) && length(kernel) == 1 && kernel %in% kernel_makers)
    kernel <- names(kernel_makers)[kernel_makers == kernel]
  name <- check_choice(kernel, names(kernel_makers), "kernel", call = call)
  list(name = name, kpar = check_kpar(kpar, name, call))
}

check_kpar <- function(kpar, kernel, call) {
  known <- names(formals(kernel_maker(kernel)))
  if (length(kpar) && (is.null(names(kpar)) || !all(names(kpar) %in% known)))
    stop_fumi("`kpar` must name parameters of the kernel \"", kernel, "\" (",
              if (length(known)) enumerate(known) else "it has none", "), not ",
              if (is.null(names(kpar))) "nothing" else enumerate(setdiff(names(kpar), known)), ".",
              class = "argument", call = call)
  for (name in names(kpar))
    check_number(kpar[[name]], paste0("kpar$", name), above = if (name == "sigma") 0 else -Inf,
                 call = call)
  kpar
}

# A kernel with its scale: for "rbf" 1 / sigma is the median of the squared distances, unless it is
# given.
with_sigma <- function(kernel, distance) {
  if (identical(kernel$name, "rbf") && is.null(kernel$kpar$sigma))
    kernel$kpar$sigma <- 1 / median_square(distance)
  kernel
}

# The arguments of a fitter, with the kernel that it was given as plain values.
with_kernel <- function(given, kernel) {
  if (!is.null(given$kernel)) given[c("kernel", "kpar")] <- kernel[c("name", "kpar")]
  given
}

# What kernlab computes with, from list(name, kpar).
kernlab_kernel <- function(kernel) {
  if (!is.function(kernel$name)) return(do.call(kernel_maker(kernel$name), kernel$kpar))
  if (inherits(kernel$name, "kernel")) kernel$name else structure(kernel$name, class = "kernel")
}

gram_matrix <- function(kernel, x, call) {
  gram <- if (is_sparse(x)) cross_rows(x) else kernlab::kernelMatrix(kernlab_kernel(kernel), x)
  if (all(is.finite(gram))) return(gram)
  stop_fumi("`kernel` must be finite for all pairs of instances, but it is not.", class = "scale",
            call = call)
}

# Squared distances of the rows of `x` to those of `y`, by cross products instead of a loop over
# features. For coinciding rows, what cancellation leaves is set to 0.
squared_distances <- function(x, y = x) {
  norms <- outer(row_squares(x), row_squares(y), "+")
  distance <- norms - 2 * cross_rows(x, y)
  distance[distance < 1e-13 * norms] <- 0
  distance
}

# The median of the squared distances of different instances: a scale of the data.
median_square <- function(distance) {
  pairs <- distance[lower.tri(distance)]
  if (any(pairs > 0)) stats::median(pairs[pairs > 0]) else 1
}
