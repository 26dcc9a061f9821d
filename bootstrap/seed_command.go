package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/identity"
)

// demoAccount is a demo account to sign in with.
type demoAccount struct{ Email, Password, Description string }

// demoAccounts are the demo accounts that have a password. Each seeding chooses
// new passwords.
var demoAccounts = []demoAccount{
	{Email: "employer@" + identity.DemoDomain, Description: "admin of Northgate University Hospitals NHS Foundation Trust"},
	{Email: "recruiter@" + identity.DemoDomain, Description: "recruiter there"},
	{Email: "viewer@" + identity.DemoDomain, Description: "viewer there"},
	{Email: "jobseeker@" + identity.DemoDomain, Description: "jobseeker"},
}

// demoFile is the file with the demo accounts and their passwords, relative to the
// working directory.
const demoFile = "data/demo.txt"

// maxSeed is the maximum number of listings of one run.
const maxSeed = 5_000_000

// errHasUsers is the error for a storage with accounts of users, which must not be mixed
// with demo data.
var errHasUsers = errors.New("the store has users; demo data is for an empty store")

// seed is the command that adds or removes the demo data.
func (o *operator) seed() *cobra.Command {
	var listingCount int
	var remove, optional, public bool
	cmd := &cobra.Command{
		Use:   "seed",
		Short: "Fill an empty store with demo data, or remove it",
		Args:  cobra.NoArgs,
		Long: "Fill an empty store with organizations, people, listings and a few applications: the same each time, " +
			"except for the passwords, which are printed and stored in " + demoFile + ".",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if listingCount < 1 || listingCount > maxSeed {
				return fmt.Errorf("--listings wants a number from 1 to %d", maxSeed)
			}

			prepare := func(ctx context.Context, cfg *config.Config, store *storage) error {
				return prepareSchemas(ctx, cfg, store, newLogger(cmd.ErrOrStderr(), cfg.Log.Level))
			}
			if err := o.withNewStorage(cmd, prepare); err != nil {
				return err
			}

			if remove {
				return o.removeDemo(cmd)
			}

			return o.addDemo(cmd, demoOptions{listingCount: listingCount, optional: optional, public: public})
		},
	}
	cmd.Flags().IntVar(&listingCount, "listings", 200, "how many listings")
	cmd.Flags().BoolVar(&remove, "remove", false, "remove the demo data")
	cmd.Flags().BoolVar(&optional, "optional", false, "succeed without demo data where it is refused")
	cmd.Flags().BoolVar(&public, "public", false, "allow demo data where http.public_url is not on this machine")

	return cmd
}

// demoOptions are the flags of the command that adds demo data.
type demoOptions struct {
	listingCount int
	optional     bool // succeed without demo data where it is refused
	public       bool // allow demo data where other machines can reach the service
}

// addDemo adds demo data with services whose clock is set to the times of the data.
func (o *operator) addDemo(cmd *cobra.Command, options demoOptions) error {
	var cfg *config.Config
	var storage adapters.Storage
	var hiringSvc *hiring.Service
	clock := &pastClock{}

	return o.withServices(cmd, role{clock: clock, newID: clock.newID}, func(ctx context.Context) error {
		if err := checkDemoAllowed(ctx, cfg, storage, options.public); err != nil {
			if options.optional {
				fmt.Fprintf(cmd.OutOrStdout(), "no demo data is added: %s\n", oneLine(err))
				return nil
			}

			return err
		}

		return showProgress(cmd, options.listingCount, func(onStored func(int)) ([]demoAccount, error) {
			return seed(ctx, storage, hiringSvc, clock, options.listingCount, onStored)
		})
	}, &cfg, &storage, &hiringSvc)
}

// checkDemoAllowed returns an error if the storage must not get demo data.
func checkDemoAllowed(ctx context.Context, cfg *config.Config, s adapters.Storage, public bool) error {
	if !public && !isLoopbackURL(cfg.HTTP.PublicURL) {
		return cfg.Err("http.public_url", "demo data is for this machine; --public adds it all the same")
	}

	hasUsers, err := s.Identity.Users.Exists(ctx)
	if err != nil {
		return err
	}

	if hasUsers {
		return errHasUsers
	}

	return nil
}

// isLoopbackURL reports whether the URL leads to this machine.
func isLoopbackURL(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}

	a, err := netip.ParseAddr(u.Hostname())

	return u.Hostname() == "localhost" || err == nil && a.IsLoopback()
}

// showProgress calls seed, which reports each batch of stored listings, and shows a progress bar
// meanwhile. Then it prints the accounts and writes them to a file.
func showProgress(cmd *cobra.Command, listingCount int, seed func(onStored func(int)) ([]demoAccount, error)) error {
	out, progress := cmd.OutOrStdout(), cmd.ErrOrStderr()

	isTerminal := false // in a file, the bar would be many lines
	if file, isFile := progress.(*os.File); isFile {
		isTerminal = term.IsTerminal(int(file.Fd()))
	}

	bar := progressbar.NewOptions(
		listingCount,
		progressbar.OptionSetWriter(progress),
		progressbar.OptionSetVisibility(isTerminal),
		progressbar.OptionSetDescription("listings"),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(), // listings per second
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)
	began := time.Now()

	// An error of the bar is one of the terminal, and no reason to stop.
	accounts, err := seed(func(stored int) { _ = bar.Add(stored) })
	if err != nil {
		return err
	}

	_ = bar.Finish()

	var list strings.Builder
	for _, account := range accounts {
		fmt.Fprintf(&list, "%-26s %s   (%s)\n", account.Email, account.Password, account.Description)
	}

	took := time.Since(began).Round(10 * time.Millisecond)
	fmt.Fprintf(out, "seeded %d listings in %s\n%s", listingCount, took, list.String())

	if err := writeDemoFile(list.String()); err != nil {
		return fmt.Errorf("failed to keep the passwords: %w", err)
	}

	fmt.Fprintf(out, "these passwords are kept in %s\n", demoFile)

	return nil
}

// writeDemoFile writes a file that only the owner may read, because it has passwords.
func writeDemoFile(text string) error {
	if err := os.MkdirAll(filepath.Dir(demoFile), 0o700); err != nil {
		return err
	}

	return os.WriteFile(demoFile, []byte(text), 0o600)
}

// demoSignIns returns the lines of the demo accounts in the file. It returns none if the storage has
// no demo data, and none for a service with https, whose output should not have passwords.
func demoSignIns(ctx context.Context, cfg *config.Config, storage adapters.Storage) []string {
	if strings.HasPrefix(cfg.HTTP.PublicURL, "https:") {
		return nil
	}

	if _, err := storage.Identity.Users.GetByEmail(ctx, demoAccounts[0].Email); err != nil {
		return nil
	}

	list, err := os.ReadFile(demoFile)
	if err != nil { // the demo data was added in another folder
		return nil
	}

	return strings.Split(strings.TrimSpace(string(list)), "\n")
}

// demoRoles are the prefixes of the addresses of demo accounts, before a number and the
// domain.
var demoRoles = []string{"employer", "admin", "recruiter", "viewer", "jobseeker"}

// maxDemoAccounts is the maximum number of accounts of a role.
const maxDemoAccounts = 2_000

// removeDemo deletes the listings of the demo organizations and the demo accounts. Data
// of other users about them is erased in the background.
func (o *operator) removeDemo(cmd *cobra.Command) error {
	var storage adapters.Storage
	var identitySvc *identity.Service

	return o.withServices(cmd, role{}, func(ctx context.Context) error {
		userIDs, organizationIDs, err := findDemo(ctx, storage)
		if err != nil {
			return err
		}

		deletedListings, err := storage.Listings.Loader.DeleteByOrganizations(ctx, organizationIDs)
		if err != nil {
			return err
		}

		// The accounts come last: if the command fails before, it finds the listings by them the next time.
		for _, userID := range userIDs {
			// DeleteAccount requires that the user has just confirmed it with the password.
			actor := auth.Actor{UserID: userID, Seeker: true, ConfirmedAt: identitySvc.Clock.Now()}
			if err := identitySvc.DeleteAccount(ctx, actor); err != nil {
				return err
			}
		}

		fmt.Fprintf(cmd.OutOrStdout(), "removed %d demo accounts and %d listings\n", len(userIDs), deletedListings)

		if err := os.Remove(demoFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}

		return nil
	}, &storage, &identitySvc)
}

// findDemo returns the ids of the demo accounts and of their organizations. It tries all addresses that
// demo accounts may have, because some of the accounts may be deleted.
func findDemo(ctx context.Context, storage adapters.Storage) (userIDs, organizationIDs []string, err error) {
	organizations := map[string]bool{}
	for _, role := range demoRoles {
		for i := range maxDemoAccounts {
			user, err := storage.Identity.Users.GetByEmail(ctx, demoEmail(role, i))
			if errors.Is(err, identity.ErrUserNotFound) {
				continue
			}

			if err != nil {
				return nil, nil, err
			}

			membership, err := storage.Identity.Members.GetByUser(ctx, user.ID)
			if err != nil {
				return nil, nil, err
			}

			if membership != nil { // a jobseeker has none
				organizations[membership.OrganizationID] = true
			}

			userIDs = append(userIDs, user.ID)
		}
	}

	return userIDs, slices.Sorted(maps.Keys(organizations)), nil
}
