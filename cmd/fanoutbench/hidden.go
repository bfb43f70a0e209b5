package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/cmd/internal/cli"
	"github.com/fanoutbench/fanoutbench/cmd/internal/controller"
	"github.com/fanoutbench/fanoutbench/cmd/internal/worker"
)

// The processes of a builtin arm are this program under two hidden commands.

func newController() *cobra.Command {
	var strategy, path string
	c := &cobra.Command{
		Use: arm.ControllerCommand, Hidden: true, Args: cli.Exactly(0, "none"),
		Short: "answer the arm protocol for a built-in strategy",
		RunE: func(c *cobra.Command, _ []string) error {
			self, err := os.Executable()
			if err != nil {
				return err
			}
			if path == "" {
				path = self
			}
			return controller.Run(c.Context(), c.InOrStdin(), c.OutOrStdout(), controller.Config{
				Worker: []string{path, arm.WorkerCommand}, Consumer: []string{self, arm.ConsumerCommand}, Strategy: strategy, Log: c.ErrOrStderr(),
			})
		},
	}
	c.Flags().StringVar(&strategy, "strategy", "", "fanout strategy of the worker")
	c.Flags().StringVar(&path, "worker", "", "executable of the worker (default: this one)")
	return c
}

func newWorker() *cobra.Command {
	var list bool
	c := &cobra.Command{
		Use: arm.WorkerCommand, Hidden: true, Args: cli.Exactly(0, "none"),
		Short: "run a detokenizer loop under a controller",
		RunE: func(c *cobra.Command, _ []string) error {
			if list {
				return json.NewEncoder(c.OutOrStdout()).Encode(worker.List())
			}
			err := worker.Run(c.Context(), c.InOrStdin(), c.OutOrStdout(), worker.Hooks{})
			if errors.Is(err, context.Canceled) {
				return nil
			}
			return err
		},
	}
	c.Flags().BoolVar(&list, "list", false, "print the strategies as JSON and exit")
	return c
}

func newConsumer() *cobra.Command {
	return &cobra.Command{
		Use: arm.ConsumerCommand, Hidden: true, Args: cli.Exactly(0, "none"),
		Short: "serve one consumer under a controller",
		RunE: func(c *cobra.Command, _ []string) error {
			return controller.RunConsumer(c.Context(), c.InOrStdin(), c.OutOrStdout())
		},
	}
}
