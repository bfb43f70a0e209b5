package results

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fanoutbench/fanoutbench/results/verdict"
)

// MergedFile is the file that Merge's outcome stands in.
const MergedFile = "merged.json"

// MaxMerged is its longest form, in bytes.
const MaxMerged = 64 << 20

// Merged is what several runs of one plan say together. It is a function of the
// runs' plans and trials; VerifyMerged computes it anew from them.
type Merged struct {
	Schema         int         `json:"schema"`
	ToolVersion    string      `json:"tool_version"` // of the runs
	CampaignSHA256 string      `json:"campaign_sha256,omitempty"`
	Shards         int         `json:"shards,omitempty"`
	Kind           string      `json:"kind,omitempty"` // as in the plans
	MarginPct      float64     `json:"margin_pct"`     // slow-down, in per cent of the reference, that still counts as equal
	Runs           []MergedRun `json:"runs"`
	Decision       string      `json:"decision"`
	Reason         string      `json:"reason"`
	Level          float64     `json:"level"`             // of the whole family together
	Rounds         int         `json:"rounds"`            // of all runs together
	Flips          int         `json:"flips,omitempty"`   // patterns of signs that the p-values are counted over
	Sampled        bool        `json:"sampled,omitempty"` // the patterns were drawn, not enumerated

	Primary  []PrimaryAnalysis `json:"primary"` // over the rounds of all runs
	Control  *ControlAnalysis  `json:"control,omitempty"`
	Hosts    []MergedHosts     `json:"hosts"` // the primary cells, run by run
	Warnings []string          `json:"warnings"`
}

// MergedRun is one run that was merged.
type MergedRun struct {
	Name         string `json:"name"` // its folder, below the one that all of them share
	Shard        *int   `json:"shard,omitempty"`
	Seed         uint64 `json:"seed"`
	Rounds       int    `json:"rounds"`
	Decision     string `json:"decision"` // of the run alone
	CPU          string `json:"cpu"`
	CPUs         int    `json:"cpus"`
	Kernel       string `json:"kernel"`
	PlanSHA256   string `json:"plan_sha256"`
	RawSHA256    string `json:"raw_sha256"`
	ResultSHA256 string `json:"result_sha256"`
}

// MergedHosts is a primary cell on each host. Heterogeneity describes and decides
// nothing.
type MergedHosts struct {
	Count       int        `json:"count"`
	Metadata    string     `json:"metadata"`
	Metric      string     `json:"metric"`
	SlowdownPct []*float64 `json:"slowdown_pct"`        // by run: the median of its rounds
	RangePct    *float64   `json:"range_pct,omitempty"` // the largest less the smallest
	P           *float64   `json:"p,omitempty"`         // that ranks of the rounds are spread over the runs as unevenly by chance; descriptive
}

// member is a run with what Merge needs of it.
type member struct {
	folder *Folder
	name   string
	result string // its file's hash
	ran    Plan
}

// merge joins runs in the order of their shards, or of their plans' hashes.
func merge(runs []member) (*Merged, error) {
	if len(runs) < 2 {
		return nil, fmt.Errorf("merge: %d runs, want at least two", len(runs))
	}
	slices.SortFunc(runs, func(a, b member) int {
		if a.folder.Plan.Shard != nil && b.folder.Plan.Shard != nil {
			if c := cmp.Compare(*a.folder.Plan.Shard, *b.folder.Plan.Shard); c != 0 {
				return c
			}
		}
		return cmp.Compare(a.folder.PlanSHA256, b.folder.PlanSHA256)
	})
	if err := checkMembers(runs); err != nil {
		return nil, fmt.Errorf("merge: %w", err)
	}
	families := make([]verdict.Family, len(runs))
	for i := range runs {
		r := &runs[i]
		if err := r.folder.CheckFigures(); err != nil {
			return nil, fmt.Errorf("merge: %s: %w", r.name, err)
		}
		r.ran = r.folder.Plan.UpTo(r.folder.Result.Rounds)
		families[i] = r.ran.families(r.folder.Trials)
	}
	joined, err := verdict.Join(families)
	if err != nil {
		return nil, fmt.Errorf("merge: %w", err)
	}
	j, err := verdict.Judge(joined)
	if err != nil {
		return nil, fmt.Errorf("merge: %w", err)
	}
	return merged(runs, joined, j), nil
}

func merged(runs []member, family verdict.Family, j verdict.Judgement) *Merged {
	p := runs[0].folder.Plan
	m := &Merged{
		Schema: Schema, ToolVersion: p.ToolVersion, CampaignSHA256: p.CampaignSHA256, Shards: p.Shards,
		Kind: p.Kind, MarginPct: p.MarginPct, Level: verdict.Level, Flips: j.Flips, Sampled: j.Sampled,
		Primary: primaries(p, j), Warnings: executablesDiffer(runs),
	}
	if j.Control != nil {
		m.Control = &ControlAnalysis{Failed: j.ControlFailed, Reason: j.Control.Reason, Primary: primaries(p, *j.Control)}
		withoutLag(m.Control.Primary)
	}
	withoutLag(m.Primary)
	for _, r := range runs {
		e := r.folder.Result.Environment
		m.Rounds += r.ran.Rounds
		m.Runs = append(m.Runs, MergedRun{
			Name: r.name, Shard: r.folder.Plan.Shard, Seed: r.folder.Plan.Seed, Rounds: r.ran.Rounds, Decision: r.folder.Result.Verdict.Decision,
			CPU: e.CPU, CPUs: e.CPUs, Kernel: e.Kernel,
			PlanSHA256: r.folder.PlanSHA256, RawSHA256: r.folder.RawSHA256, ResultSHA256: r.result,
		})
	}
	for i, effect := range verdict.HostEffects(family) {
		m.Hosts = append(m.Hosts, p.Primary[i].hosts(effect))
	}
	both := Result{Arms: runs[0].folder.Result.Arms, Analysis: &Analysis{Decision: j.Decision, Reason: j.Reason}}.decided()
	m.Decision, m.Reason = both.Decision, both.Reason
	return m
}

// withoutLag leaves out what neighbouring rounds say: where two hosts meet they
// are no neighbours.
func withoutLag(cells []PrimaryAnalysis) {
	for i := range cells {
		cells[i].Lag1 = nil
	}
}

func (c Primary) hosts(e verdict.HostEffect) MergedHosts {
	h := MergedHosts{Count: c.Count, Metadata: c.Metadata, Metric: c.Metric, P: six(e.P)}
	for _, estimate := range e.Estimates {
		h.SlowdownPct = append(h.SlowdownPct, slowdown(estimate))
	}
	if x := present(h.SlowdownPct); len(x) == len(h.SlowdownPct) {
		reach := slices.Max(x) - slices.Min(x)
		h.RangePct = six(&reach)
	}
	return h
}

// checkMembers wants runs of one plan, each once, and all of a campaign.
func checkMembers(runs []member) error {
	first := runs[0]
	for _, r := range runs {
		if status := r.folder.Result.Verdict.Status; status != StatusVerified {
			return fmt.Errorf("%s is %s, want verified runs only", r.name, status)
		}
		if len(r.folder.Plan.Primary) == 0 {
			return fmt.Errorf("the plan of %s has no family of primary cells, want runs that decide something", r.name)
		}
		if err := first.agrees(r); err != nil {
			return err
		}
	}
	if err := once(runs); err != nil {
		return err
	}
	return allShards(runs)
}

// agrees names what differs between two runs that must be alike.
func (m member) agrees(o member) error {
	tell := func(file string, found []string) error {
		if len(found) == 0 {
			return nil
		}
		return fmt.Errorf("%s/%s and %s/%s differ: %s", m.name, file, o.name, file, strings.Join(found, "; "))
	}
	if err := tell(PlanFile, differing(m.folder.Plan.settings(), o.folder.Plan.settings())); err != nil {
		return err
	}
	if a, b := m.folder.Plan, o.folder.Plan; a.CampaignSHA256 != b.CampaignSHA256 || a.Shards != b.Shards {
		return tell(PlanFile, differing(Plan{CampaignSHA256: a.CampaignSHA256, Shards: a.Shards}, Plan{CampaignSHA256: b.CampaignSHA256, Shards: b.Shards}))
	}
	for _, arm := range m.folder.Plan.Arms() {
		found := m.folder.Result.Arms[arm].dissimilar(o.folder.Result.Arms[arm])
		for i := range found {
			found[i] = "arms." + arm + " " + found[i]
		}
		if err := tell(ResultFile, found); err != nil {
			return err
		}
	}
	return nil
}

// once refuses a run that is given twice, as it is or under other hashes.
func once(runs []member) error {
	for i, a := range runs {
		for _, b := range runs[:i] {
			switch {
			case a.folder.Plan.Shard != nil && b.folder.Plan.Shard != nil && *a.folder.Plan.Shard == *b.folder.Plan.Shard:
				return fmt.Errorf("%s and %s are both shard %d of the campaign, want each once", b.name, a.name, *a.folder.Plan.Shard)
			case a.folder.PlanSHA256 == b.folder.PlanSHA256:
				return fmt.Errorf("%s and %s have the same %s (sha256 %s), want runs with coins of their own", b.name, a.name, PlanFile, a.folder.PlanSHA256)
			case a.folder.RawSHA256 == b.folder.RawSHA256:
				return fmt.Errorf("%s and %s have the same %s (sha256 %s), want each run once", b.name, a.name, RawFile, a.folder.RawSHA256)
			case a.folder.Plan.Seed == b.folder.Plan.Seed:
				return fmt.Errorf("%s and %s have the same seed %d, and so the same coins", b.name, a.name, a.folder.Plan.Seed)
			}
		}
	}
	return nil
}

// allShards wants every run of the campaign, since to leave some out would be a
// choice among them.
func allShards(runs []member) error {
	p := runs[0].folder.Plan
	if p.Shards == 0 {
		return nil
	}
	there := map[int]bool{}
	for _, r := range runs {
		there[*r.folder.Plan.Shard] = true
	}
	var missing []string
	for i := range p.Shards {
		if !there[i] {
			missing = append(missing, fmt.Sprint(i))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("of %d shards of the campaign %d are missing: %s", p.Shards, len(missing), shortened(strings.Join(missing, ", ")))
	}
	return nil
}

// executablesDiffer says where runs had other executables of the same sources,
// which other machines and folders make.
func executablesDiffer(runs []member) []string {
	warnings := []string{}
	for _, arm := range runs[0].folder.Plan.Arms() {
		for _, r := range runs[1:] {
			a, b := runs[0].folder.Result.Arms[arm], r.folder.Result.Arms[arm]
			if len(a.Layouts) == 0 && !slices.Equal(a.BinarySHA256, b.BinarySHA256) {
				warnings = append(warnings, fmt.Sprintf("the %s of %s is another executable than that of %s, of the same sources", arm, r.name, runs[0].name))
			}
		}
	}
	return warnings
}

func (m *Merged) normal() {
	m.Runs, m.Hosts, m.Primary, m.Warnings = listed(m.Runs), listed(m.Hosts), listed(m.Primary), listed(m.Warnings)
	for i := range m.Hosts {
		m.Hosts[i].SlowdownPct = listed(m.Hosts[i].SlowdownPct)
	}
	if m.Control != nil {
		m.Control.Primary = listed(m.Control.Primary)
	}
}

// check holds what stands in a merged file against itself.
func (m *Merged) check() error {
	if m.Schema != Schema {
		return unwanted("schema", m.Schema, "%d", Schema)
	}
	if len(m.Runs) < 2 {
		return unwanted("runs", fmt.Sprintf("%d runs", len(m.Runs)), "at least two")
	}
	seen := map[string]bool{}
	for i, r := range m.Runs {
		if !portablePath(r.Name) || seen[r.Name] {
			return unwanted(fmt.Sprintf("runs[%d].name", i), r.Name, "a path below the folder that all runs share, once")
		}
		seen[r.Name] = true
		if err := errors.Join(checkHash("plan_sha256", r.PlanSHA256), checkHash("raw_sha256", r.RawSHA256), checkHash("result_sha256", r.ResultSHA256)); err != nil {
			return fmt.Errorf("runs[%d]: %w", i, err)
		}
	}
	return nil
}
