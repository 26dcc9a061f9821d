package bootstrap

import (
	"context"
	"fmt"
	"time"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/modules/identity"
)

// employersWithTeam is the number of demo employers with a recruiter and a viewer.
const employersWithTeam = 6

// createPeople stores the organizations with their members, and the jobseekers. hashes are the
// hashes of passwords by e-mail address; an account without one cannot sign in.
func (sd *seeder) createPeople(ctx context.Context, storage adapters.Storage, n int, hashes map[string]string) error {
	for i, o := range sd.orgs {
		if err := sd.createOrganization(ctx, storage, i, o, hashes); err != nil {
			return err
		}

		if i >= employersWithTeam {
			continue
		}

		for k, role := range []identity.OrgRole{identity.Recruiter, identity.Viewer} {
			u, err := sd.createMember(ctx, storage, i, demoID(o.CreatedAt.Add(time.Hour), "member", i*10+k), role, hashes)
			if err != nil {
				return err
			}

			if i == 0 && role == identity.Recruiter {
				sd.recruiter = u.ID
			}
		}
	}

	for i := range min(max(n/10, 20), maxDemoAccounts) {
		u := sd.newUser(demoEmail("jobseeker", i), identity.KindJobseeker, i, hashes)

		u.Registered = true
		if err := storage.Identity.Users.Create(ctx, &u); err != nil {
			return err
		}

		sd.seekers = append(sd.seekers, u.ID)
	}

	return nil
}

// newUser returns a user with a verified e-mail address.
func (sd *seeder) newUser(email string, kind identity.Kind, i int, hashes map[string]string) identity.User {
	registeredAt := sd.now.AddDate(-1, 0, 0)
	u := identity.NewUser(demoID(registeredAt, "user "+email, i), email, sd.pickPersonName(), kind, hashes[email], registeredAt)
	u.Verify(registeredAt)

	return u
}

// createOrganization stores employer i with its admin.
func (sd *seeder) createOrganization(
	ctx context.Context,
	storage adapters.Storage,
	i int,
	o employer,
	hashes map[string]string,
) error {
	email := demoEmail("admin", i)
	if i == 0 {
		email = demoAccounts[0].Email
	}

	admin := sd.newUser(email, identity.KindEmployer, i, hashes)

	admin.Registered = true
	if i == 0 {
		sd.lead = admin.Name
	}

	if err := storage.Identity.Users.Create(ctx, &admin); err != nil {
		return err
	}

	_, founder := identity.NewOrganization(o.ID, demoID(o.CreatedAt, "membership", i), admin.ID, o.Name,
		o.Industry, o.Size, o.CreatedAt)
	if err := storage.Identity.Organizations.Upsert(ctx, &o.Organization); err != nil {
		return err
	}

	return storage.Identity.Members.Upsert(ctx, &founder)
}

// createMember stores a member of employer i, who has accepted the invitation.
func (sd *seeder) createMember(
	ctx context.Context,
	storage adapters.Storage,
	i int,
	memberID string,
	role identity.OrgRole,
	hashes map[string]string,
) (identity.User, error) {
	o := sd.orgs[i]

	u := sd.newUser(demoEmail(string(role), i), identity.KindEmployer, i, hashes)
	if err := storage.Identity.Users.Create(ctx, &u); err != nil {
		return identity.User{}, err
	}

	m := identity.NewInvitation(memberID, o.ID, u.ID, u.Name, u.Email, role, o.CreatedAt)
	m.Accept(o.CreatedAt)

	return u, storage.Identity.Members.Upsert(ctx, &m)
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
