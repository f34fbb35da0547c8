"""Signalbox in a real API server: etcd, kube-apiserver, kube-controller-manager, Kueue and JobSet as plain processes."""
