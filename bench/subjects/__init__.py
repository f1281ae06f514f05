"""The measurements that ``python -m lazyentity.bench`` makes."""
