# Writes the model of this version that all later versions must read, and its scores, to
# tests/testthat/fixtures. Run once a release of a new format, from the root of the package.
library(fumi)
set.seed(1)
b <- sim_bags(n_bags = 8, bag_size = 4, n_features = 6)
x <- as.matrix(b)
colnames(x) <- c(letters[1:5], "\u00e9")
fit <- dlfumi(x, as.data.frame(b)$bag, as.data.frame(b)$label, n_target = 1, n_background = 2,
              control = dlfumi_control(max_iter = 5))
name <- file.path("tests", "testthat", "fixtures", paste0("model-", fit$version))
mil_save(fit, paste0(name, ".fumi"))
saveRDS(list(x = x, score = predict(fit, x)$.score, class = predict(fit, x, type = "class")$.pred_class),
        paste0(name, "-scores.rds"), version = 2)
