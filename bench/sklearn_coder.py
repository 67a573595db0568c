"""scikit-learn's lasso_cd as its sparse_encode() calls it, with a tolerance that reaches the gap:
   sklearn_coder.py X D lambda out     prints seconds of CPU; files as coder.R writes them"""
import sys
import time
import numpy as np
from sklearn.linear_model import Lasso


def read(name):
    size = np.fromfile(name, dtype=np.int32, count=2)
    return np.fromfile(name, dtype=np.float64, offset=8).reshape(size[1], size[0])


signals, atoms = read(sys.argv[1]), read(sys.argv[2])
penalty = float(sys.argv[3]) / signals.shape[1]
start = time.process_time()
gram = atoms @ atoms.T
lasso = Lasso(alpha=penalty, fit_intercept=False, precompute=gram, max_iter=100000, tol=1e-7)
lasso.fit(atoms.T, signals.T, check_input=False)
print(time.process_time() - start)
np.ascontiguousarray(lasso.coef_).tofile(sys.argv[4])
