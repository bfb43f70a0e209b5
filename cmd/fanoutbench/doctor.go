package main

import (
	"github.com/spf13/cobra"

	"github.com/fanoutbench/fanoutbench/cmd/internal/cli"
	"github.com/fanoutbench/fanoutbench/cmd/internal/doctor"
)

func newDoctor() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Args: cli.Exactly(0, "none"),
		Short: "say what on this machine spoils measurements, and how to mend it",
		RunE: func(c *cobra.Command, _ []string) error {
			found, err := doctor.Examine(c.Context(), doctor.Here())
			if err != nil {
				return err
			}
			return doctor.Write(c.OutOrStdout(), found)
		},
	}
}
