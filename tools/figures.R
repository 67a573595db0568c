# Draws the picture of README.md and writes what its code prints, and from the stored results its
# table and its sentence on speed: `Rscript tools/figures.R`, with the package installed.
library(fumi)
source("tools/figure-bags.R")
source("tools/readme.R")
draw_bags_figure("man/figures/README-bags.png")

shown <- list(c("mi-SVM", "tuned"), c("DL-FUMI, witnesses", "tuned, averaged, one scale"),
              c("DL-FUMI, exact codes", "tuned, averaged, one scale"),
              c("DL-FUMI", "tuned, averaged, one scale"),
              c("GD-MIL", "tuned, averaged, one scale"), c("MMDL", "tuned, averaged, one scale"),
              c("DL-FUMI", "tuned"), c("DL-FUMI", "the paper's parameters"), c("EM-DD", "tuned"))
table <- paper_table("usps")
rows <- vapply(shown, function(s) with(table[table$method == s[1] & table$setting == s[2], ],
                                       sprintf("| %s, %s | %.1f | %.1f | %s |", method, setting,
                                               mean, sd,
                                       if (is.na(paper)) "" else sprintf("%.4g", paper))), "")
readme <- readLines("README.md")
head <- grep("^\\| \\| here", readme)
end <- head + which(!startsWith(readme[-seq_len(head)], "|"))[1]
readme <- c(readme[seq_len(head + 1)], rows, readme[end:length(readme)])

speed <- subset(read.csv("bench/results/iteration.csv"), contender == "core")
speed <- utils::tail(speed, length(unique(speed$problem)))
times <- stats::setNames(sprintf("%.0f", pmin(speed$ratio, speed$median_ratio)), speed$problem)
from <- grep("^One EM iteration ", readme)
readme[from + 0:2] <- c(
  sprintf("One EM iteration for one digit of USPS takes %.1f ms on one core (256 x 2700, 19 atoms), %s times as fast as vectorised R on",
          speed$ms[speed$problem == "usps"], times[["usps"]]),
  sprintf("OpenBLAS; for 4980 x 1000 it is %s times as fast, for 256 x 50000 with 60 atoms %s times", times[["ar"]], times[["large"]]),
  "(`bench/README.md`, `bench/results/iteration.csv`).")
writeLines(with_output(readme), "README.md")
