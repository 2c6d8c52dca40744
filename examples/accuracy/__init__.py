"""The default network beside usual classifiers and regressors on real tables: accuracy, probabilities, seconds."""
