// Package queue keeps jobs.
package queue

import (
	"context"
	"sync"
)

const (
	MaxJobs = 100
	minJobs, idle = 1, 2
)

var ErrFull = errors.New("full")

// Job is one piece of work.
type Job struct {
	ID   string `json:"id"`
	a, b int
	sync.Mutex
}

type (
	Runner interface {
		Run(ctx context.Context, job *Job) error
		Close()
	}
	Names map[string]Job
	Alias = Job
)

// Push adds a job.
func (q *Queue[T]) Push(ctx context.Context, job T) error {
	return nil
}

func (j Job) String() string { return j.ID }

type Queue[T any] struct {
	jobs []T
}

func New[T any](size int) *Queue[T] {
	run := func() {}
	run()
	return &Queue[T]{}
}

func init() {}
