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

// createPeople stores the organizations with their members, and the jobseekers. hashes maps e-mail addresses to hashes
// of passwords. Only a few accounts have one. The others cannot sign in.
func (s *seeder) createPeople(ctx context.Context, storage adapters.Storage, listingCount int, hashes map[string]string) error {
	for i, org := range s.orgs {
		if err := s.createOrganization(ctx, storage, i, org, hashes); err != nil {
			return err
		}

		if i >= employersWithTeam {
			continue
		}

		for k, role := range []identity.OrgRole{identity.Recruiter, identity.Viewer} {
			// Ids are sorted by time: those of members follow that of the admin.
			afterAdmin := org.CreatedAt.Add(time.Hour)
			memberNumber := i*10 + k // unique, because a team has fewer than ten members
			memberID := demoID(afterAdmin, "member", memberNumber)

			user, err := s.createMember(ctx, storage, i, memberID, role, hashes)
			if err != nil {
				return err
			}

			if i == 0 && role == identity.Recruiter {
				s.recruiterID = user.ID
			}
		}
	}

	// There is one jobseeker for ten listings, but at least 20, which is more than demoApplications needs.
	seekerCount := min(max(listingCount/10, 20), maxDemoAccounts)
	for i := range seekerCount {
		user := s.newUser(demoEmail("jobseeker", i), identity.KindJobseeker, i, hashes)

		user.Registered = true
		if err := storage.Identity.Users.Create(ctx, &user); err != nil {
			return err
		}

		s.seekerIDs = append(s.seekerIDs, user.ID)
	}

	return nil
}

// newUser returns user number i of a kind, with a verified e-mail address.
func (s *seeder) newUser(email string, kind identity.Kind, i int, hashes map[string]string) identity.User {
	registeredAt := s.now.AddDate(-1, 0, 0)
	id := demoID(registeredAt, "user "+email, i)
	user := identity.NewUser(id, email, s.pickPersonName(), kind, hashes[email], registeredAt)
	user.Verify(registeredAt)

	return user
}

// createOrganization stores employer i with its admin. The admin of the first employer has a demo
// account to sign in with, and is the interviewer of the demo applications.
func (s *seeder) createOrganization(
	ctx context.Context,
	storage adapters.Storage,
	i int,
	org employer,
	hashes map[string]string,
) error {
	isFirst := i == 0

	email := demoEmail("admin", i)
	if isFirst {
		email = demoAccounts[0].Email
	}

	admin := s.newUser(email, identity.KindEmployer, i, hashes)

	admin.Registered = true
	if isFirst {
		s.interviewerName = admin.Name
	}

	if err := storage.Identity.Users.Create(ctx, &admin); err != nil {
		return err
	}

	// newSeeder has made org. Only the membership of its admin is taken from NewOrganization.
	membershipID := demoID(org.CreatedAt, "membership", i)

	_, adminMembership := identity.NewOrganization(org.ID, membershipID, admin.ID, org.Name, org.Industry, org.Size, org.CreatedAt)
	if err := storage.Identity.Organizations.Upsert(ctx, &org.Organization); err != nil {
		return err
	}

	return storage.Identity.Members.Upsert(ctx, &adminMembership)
}

// createMember stores a new user and their membership of employer i, as after an accepted invitation.
func (s *seeder) createMember(
	ctx context.Context,
	storage adapters.Storage,
	i int,
	memberID string,
	role identity.OrgRole,
	hashes map[string]string,
) (identity.User, error) {
	org := s.orgs[i]

	user := s.newUser(demoEmail(string(role), i), identity.KindEmployer, i, hashes)
	if err := storage.Identity.Users.Create(ctx, &user); err != nil {
		return identity.User{}, err
	}

	membership := identity.NewInvitation(memberID, org.ID, user.ID, user.Name, user.Email, role, org.CreatedAt)
	membership.Accept(org.CreatedAt)

	return user, storage.Identity.Members.Upsert(ctx, &membership)
}

// demoEmail returns the address of demo account number i of a role. The first address has no number.
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
