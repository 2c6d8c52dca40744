"""The logistic loss and the softmax over a kernel, with what is predicted of rows left out."""
