# R reads what we write: columns and types as bnlearn's users expect them, and the L1 threshold as R's
# own functions give it.
#
#   Rscript with_r.R support.csv VARIABLES THRESHOLD
#
# VARIABLES is the number of variables, THRESHOLD what the program printed.
arguments <- commandArgs(trailingOnly = TRUE)
support <- read.csv(arguments[1], check.names = TRUE)
variables <- as.integer(arguments[2])
printed <- as.numeric(arguments[3])

stopifnot(identical(names(support)[1:4], c("from", "to", "strength", "direction")))
stopifnot(is.character(support$from), is.character(support$to))
shares <- c("strength", "direction", "forward", "backward", "undirected", "se")
for (column in shares) stopifnot(is.numeric(support[[column]]), !anyNA(support[[column]]))
if ("in_best" %in% names(support)) stopifnot(is.logical(support$in_best), !anyNA(support$in_best))

# Both orientations of each pair, with the same strength and opposite directions.
key <- paste(support$from, support$to, sep = "\r")
turned <- match(paste(support$to, support$from, sep = "\r"), key)
stopifnot(!anyNA(turned), !anyDuplicated(key))
same <- function(x, y) stopifnot(all(abs(x - y) < 1e-9))
same(support$strength, support$strength[turned])
same(support$direction + support$direction[turned], 1)
same(support$forward, support$backward[turned])
same(support$strength, support$forward + support$backward + support$undirected)
# The share of an arc, an undirected one counting half: what custom.strength adds up.
same(support$strength * support$direction, support$forward + support$undirected / 2)
stopifnot(!is.unsorted(-support$strength))

# inclusion.threshold: the constant that is nearest to the distribution function of all strengths, and
# the strength at which that function reaches it.
strengths <- c(support$strength, rep(0, variables * (variables - 1) - nrow(support)))
reached <- ecdf(strengths)
knots <- sort(unique(c(0, strengths, 1)))
heights <- reached(head(knots, -1))
distance <- function(constant) sum(diff(knots) * abs(heights - constant))
candidates <- c(optimize(distance, c(0, 1))$minimum, 1, 0)
nearest <- candidates[which.min(sapply(candidates, distance))]
threshold <- quantile(strengths, nearest, type = 1, names = FALSE)
if (abs(threshold - printed) > 1e-9)
  stop("R finds the threshold ", threshold, ", the program ", printed)
cat("R: ", nrow(support), " arcs, threshold ", threshold, "\n", sep = "")
