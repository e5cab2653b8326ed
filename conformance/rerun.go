package main

import "context"

func (r *run) reruns(context.Context) error { return nil }
