# Grow a tree for each problem of a folder with rpart, and write its predictions.
#
#     Rscript rpart.R FOLDER
#
# problems.csv has a line per problem: its name, rpart's method, and the parameters. NAME-train.csv has the target y, the
# weights and the columns, NAME-test.csv the columns. Text is a category, an empty cell is missing.

suppressPackageStartupMessages(library(rpart))

read_table <- function(path) read.csv(path, na.strings = "", stringsAsFactors = TRUE)

predictions_of <- function(problem) {
  train <- read_table(sprintf("%s-train.csv", problem$name))
  test <- read_table(sprintf("%s-test.csv", problem$name))
  for (column in names(test)) {
    if (is.factor(train[[column]])) test[[column]] <- factor(test[[column]], levels(train[[column]]))
  }
  is_class <- problem$method == "class"
  if (is_class) train$y <- factor(train$y)
  control <- rpart.control(
    cp = -1, maxdepth = problem$max_depth, minbucket = problem$min_samples_leaf,
    minsplit = problem$min_samples_leaf + 1, maxsurrogate = problem$max_surrogates,
    usesurrogate = 2, surrogatestyle = 0, xval = 0
  )
  tree <- rpart(y ~ .,
    data = train[names(train) != "weight"], weights = train$weight, method = problem$method, control = control,
    parms = if (is_class) list(split = "information")
  )
  predict(tree, test, type = if (is_class) "prob" else "vector")
}

setwd(commandArgs(trailingOnly = TRUE)[1])
problems <- read.csv("problems.csv", colClasses = c(name = "character"))
for (i in seq_len(nrow(problems))) {
  found <- as.matrix(predictions_of(problems[i, ]))
  write.table(
    format(found, digits = 17), sprintf("%s-prediction.csv", problems$name[i]),
    sep = ",", row.names = FALSE, col.names = FALSE, quote = FALSE
  )
}
