# Compares a lower bound on the memory that a fit needs with what the system can give after garbage
# collection. Some builds of OpenBLAS never return from a call that runs out of memory.
check_memory <- function(bytes, call) {
  if (!check_flag(getOption("fumi.check_memory", TRUE), "fumi.check_memory", call = call))
    return(invisible())
  if (bytes <= bytes_free()) return(invisible())
  gc()
  free <- bytes_free()
  if (bytes > free)
    stop_fumi("A fit must have at least ", as_size(bytes), " of memory, but only ",
              as_size(max(free, 0)),
              " are free; `options(fumi.check_memory = FALSE)` skips this check.",
              class = "memory", call = call)
}

as_size <- function(bytes) format(structure(bytes, class = "object_size"), units = "auto")

# Bytes that this process can still get: of the machine, of its control group, of its address
# space, the latter less a buffer that OpenBLAS takes at its first product. What the system does
# not tell is no limit.
bytes_free <- function(root = "/") {
  lines <- function(...) {
    file <- file.path(root, ...)
    if (file.exists(file)) tryCatch(suppressWarnings(readLines(file)),
                                    error = function(e) character()) else character()
  }
  number <- function(lines, name = "") {
    line <- grep(paste0("^", name), lines, value = TRUE)[1]
    suppressWarnings(as.numeric(sub("^[^0-9]*([0-9]+|max).*", "\\1",
                                    sub(paste0("^", name), "", line))))
  }
  system <- lines("proc", "meminfo")
  group <- "sys/fs/cgroup"
  status <- lines("proc", "self", "status")
  free <- c(1024 * (number(system, "MemAvailable:") + number(system, "SwapFree:")),
            number(lines(group, "memory.max")) - number(lines(group, "memory.current")),
            number(lines(group, "memory",
                         "memory.limit_in_bytes")) - number(lines(group, "memory",
                                                                  "memory.usage_in_bytes")),
            number(lines("proc", "self", "limits"),
                   "Max address space") - 1024 * number(status, "VmSize:") - 2^27)
  min(free, Inf, na.rm = TRUE)
}
