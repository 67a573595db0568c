# What is said once in a session is said before the tests that listen for other warnings.
suppressWarnings(fumi:::warn_fumi("", class = "max_iter", once = "fumi_max_iter"))
