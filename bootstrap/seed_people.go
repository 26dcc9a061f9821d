package bootstrap

import (
	"context"
	"fmt"
	"time"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/modules/identity"
)

// createPeople stores organizations with their admins and the jobseekers. An account
// without a hash cannot sign in.
func (sd *seeder) createPeople(ctx context.Context, s adapters.Storage, n int, hashes map[string]string) error {
	account := func(email string, kind identity.Kind, registered bool, i int) (identity.User, error) {
		at := sd.now.AddDate(-1, 0, 0)
		u := identity.NewUser(demoID(at, "user "+email, i), email, sd.pickPersonName(), kind, hashes[email], at)
		u.Verify(at)
		u.Registered = registered
		return u, s.Identity.Users.Create(ctx, &u)
	}
	for i, o := range sd.orgs {
		email := demoEmail("admin", i)
		if i == 0 {
			email = demoAccounts[0].Email
		}
		admin, err := account(email, identity.KindEmployer, true, i)
		if err != nil {
			return err
		}
		if i == 0 {
			sd.lead = admin.Name
		}
		_, founder := identity.NewOrganization(
			o.ID,
			demoID(o.CreatedAt, "membership", i),
			admin.ID,
			o.Name,
			o.Industry,
			o.Size,
			o.CreatedAt,
		)
		if err := s.Identity.Organizations.Upsert(ctx, &o.Organization); err != nil {
			return err
		}
		if err := s.Identity.Members.Upsert(ctx, &founder); err != nil {
			return err
		}
		if i > 5 {
			continue
		}
		for k, role := range []identity.OrgRole{identity.Recruiter, identity.Viewer} {
			u, err := account(demoEmail(string(role), i), identity.KindEmployer, false, i)
			if err != nil {
				return err
			}
			if i == 0 && role == identity.Recruiter {
				sd.recruiter = u.ID
			}
			m := identity.NewInvitation(
				demoID(o.CreatedAt.Add(time.Hour), "member", i*10+k),
				o.ID,
				u.ID,
				u.Name,
				u.Email,
				role,
				o.CreatedAt,
			)
			m.Accept(o.CreatedAt)
			if err := s.Identity.Members.Upsert(ctx, &m); err != nil {
				return err
			}
		}
	}
	for i := range min(max(n/10, 20), maxDemoAccounts) {
		u, err := account(demoEmail("jobseeker", i), identity.KindJobseeker, true, i)
		if err != nil {
			return err
		}
		sd.seekers = append(sd.seekers, u.ID)
	}
	return nil
}

// demoEmail returns the address of the demo account of a role with a number.
func demoEmail(role string, i int) string {
	if i == 0 {
		return role + "@" + identity.DemoDomain
	}
	return fmt.Sprintf("%s%d@%s", role, i, identity.DemoDomain)
}

func (sd *seeder) pickPersonName() string {
	return sd.pick(sd.FirstNames) + " " + sd.pick(sd.LastNames)
}
