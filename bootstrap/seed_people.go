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
func (s *seeder) createPeople(ctx context.Context, storage adapters.Storage, n int, hashes map[string]string) error {
	for i, o := range s.orgs {
		if err := s.createOrganization(ctx, storage, i, o, hashes); err != nil {
			return err
		}

		if i >= employersWithTeam {
			continue
		}

		for k, role := range []identity.OrgRole{identity.Recruiter, identity.Viewer} {
			memberID := demoID(o.CreatedAt.Add(time.Hour), "member", i*10+k) // later than the admin

			u, err := s.createMember(ctx, storage, i, memberID, role, hashes)
			if err != nil {
				return err
			}

			if i == 0 && role == identity.Recruiter {
				s.recruiter = u.ID
			}
		}
	}

	jobseekers := min(max(n/10, 20), maxDemoAccounts) // one for ten listings, and enough for demoApplications
	for i := range jobseekers {
		u := s.newUser(demoEmail("jobseeker", i), identity.KindJobseeker, i, hashes)

		u.Registered = true
		if err := storage.Identity.Users.Create(ctx, &u); err != nil {
			return err
		}

		s.seekers = append(s.seekers, u.ID)
	}

	return nil
}

// newUser returns a user with a verified e-mail address.
func (s *seeder) newUser(email string, kind identity.Kind, i int, hashes map[string]string) identity.User {
	registeredAt := s.now.AddDate(-1, 0, 0)
	u := identity.NewUser(demoID(registeredAt, "user "+email, i), email, s.pickPersonName(), kind, hashes[email], registeredAt)
	u.Verify(registeredAt)

	return u
}

// createOrganization stores employer i with its admin.
func (s *seeder) createOrganization(
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

	admin := s.newUser(email, identity.KindEmployer, i, hashes)

	admin.Registered = true
	if i == 0 {
		s.lead = admin.Name
	}

	if err := storage.Identity.Users.Create(ctx, &admin); err != nil {
		return err
	}

	// The organization exists already: only the membership of its admin is new.
	_, founder := identity.NewOrganization(o.ID, demoID(o.CreatedAt, "membership", i), admin.ID, o.Name,
		o.Industry, o.Size, o.CreatedAt)
	if err := storage.Identity.Organizations.Upsert(ctx, &o.Organization); err != nil {
		return err
	}

	return storage.Identity.Members.Upsert(ctx, &founder)
}

// createMember stores a member of employer i, who has accepted the invitation.
func (s *seeder) createMember(
	ctx context.Context,
	storage adapters.Storage,
	i int,
	memberID string,
	role identity.OrgRole,
	hashes map[string]string,
) (identity.User, error) {
	o := s.orgs[i]

	u := s.newUser(demoEmail(string(role), i), identity.KindEmployer, i, hashes)
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

// pickPersonName returns the name of an invented person.
func (s *seeder) pickPersonName() string {
	return s.pick(s.FirstNames) + " " + s.pick(s.LastNames)
}
