-- Rows of every table of the released schema. n(i) counts from 1 to 10,000, ID(k, n) is the id
-- of the nth row of a kind, UUID(k, n) is its text, and NOW and SOON are timestamps. User 1 is an
-- employer, user 2 a developer, and the users from 11 to 1010 are jobseekers. The test replaces
-- the words in capitals.

INSERT INTO users (id, email, email_key, name, kind, status, password_hash, email_verified_at,
  created_at, updated_at, version)
SELECT ID(1, i), 'u' || i || '@example.org', 'u' || i || '@example.org', 'Ines Okafor ' || i,
  CASE i WHEN 1 THEN 'employer' ELSE 'jobseeker' END, 'active', 'PASSWORD',
  CASE WHEN i <> 4 THEN TIME(NOW) END, NOW, NOW, 1
FROM n WHERE i <= 1010;

INSERT INTO organizations (id, name, description, website, logo, industry, size, created_at,
  updated_at, version)
SELECT ID(2, i), 'St Brigid''s', '', '', '', '', '', NOW, NOW, 1
FROM n WHERE i = 1;

INSERT INTO memberships (organization_id, user_id, id, role, permissions, founder, status,
  invited_name, invited_email, created_at, updated_at, version)
SELECT ID(2, 1), ID(1, 1), ID(3, 1), 'admin',
  'jobs.create jobs.update jobs.delete applications.view applications.update', true, 'active', '',
  '', NOW, NOW, 1
FROM n WHERE i = 1;

INSERT INTO sessions (id, user_id, address, user_agent, created_at, last_used_at, expires_at)
SELECT ID(4, i), ID(1, i), '10.0.0.0/24', 'x', NOW, NOW, SOON
FROM n WHERE i <= 1010;

INSERT INTO refresh_tokens (hash, session_id, issued_at, expires_at)
SELECT 'r' || i, ID(4, i), NOW, SOON
FROM n WHERE i <= 1010;

INSERT INTO browser_sessions (hash, session_id)
SELECT 'b' || i, ID(4, i)
FROM n WHERE i <= 1010;

INSERT INTO user_tokens (hash, user_id, purpose, email, created_at, expires_at)
SELECT 't' || i, ID(1, i), 'reset_password', 'u' || i || '@example.org', NOW, SOON
FROM n WHERE i <= 1010;

INSERT INTO email_changes (user_id, email, requested_at)
SELECT ID(1, i), 'new' || i || '@example.org', NOW
FROM n WHERE i <= 10;

INSERT INTO email_undos (user_id, changed_at, email, email_key, expires_at)
SELECT ID(1, i), NOW, 'old' || i || '@example.org', 'old' || i || '@example.org', SOON
FROM n WHERE i <= 10;

INSERT INTO employer_settings (user_id, job_title, contact_name, contact_email, contact_phone,
  email_alerts, updated_at, version)
SELECT ID(1, i), 'Matron', '', '', '', true, NOW, 1
FROM n WHERE i = 1;

INSERT INTO invitation_opt_outs (mailbox, created_at)
SELECT 'm' || i, NOW
FROM n WHERE i <= 10;

INSERT INTO second_factors (user_id, secret, created_at, last_step)
SELECT ID(1, i), 's', NOW, 0
FROM n WHERE i = 3;

INSERT INTO recovery_codes (user_id, hash)
SELECT ID(1, 3), 'c' || i
FROM n WHERE i <= 10;

INSERT INTO audit_entries (id, at, action, actor, organization_id, network, object, detail)
SELECT ID(5, i), NOW, 'listing.created', 'system', ID(2, 1), '', 'x', 'é' || i
FROM n;

INSERT INTO idempotency_keys (owner_id, operation, key_hash, fingerprint, status, answer,
  claimed_until, expires_at)
SELECT ID(1, i), 'o', 'k' || i, 'f', 201, '{}', NOW, SOON
FROM n WHERE i <= 1010;

INSERT INTO listings (id, organization_id, open, remote, posted_at, lat, lon, salary_min,
  salary_max, created_at, updated_at, version, contract_type, employment_type, country, nation,
  region, city, place_kind, status, salary_currency, salary_period, specialty, title, company,
  department, location, description, requirements, benefits, questions, meta)
SELECT ID(6, i), ID(2, 1), i % 10 <> 0, false, NOW, 53.796, -1.548, 3000000 + i, 4000000, NOW, NOW,
  1, 'permanent', 'full-time', 'GB', 'ENG', 'West Yorkshire', 'Leeds', 'town',
  CASE i % 10 WHEN 0 THEN 'closed' ELSE 'active' END, 'GBP', 'year', 'Theatre',
  'Theatre Nurse ' || i, 'St Brigid''s', '', 'Leeds', 'Days and nights.', '["NMC"]', '[]', '[]',
  '{"ref": "x"}'
FROM n;

INSERT INTO listing_changes (listing_id, changed_at)
SELECT ID(6, i), NOW
FROM n;

INSERT INTO listing_views (listing_id, views)
SELECT ID(6, i), i
FROM n;

INSERT INTO listing_visits (day, listing_id, visitor)
SELECT '2026-11-20', ID(6, i), 'v'
FROM n;

INSERT INTO listing_visit_salts (day, salt)
SELECT '2026-11-20', 's'
FROM n WHERE i = 1;

INSERT INTO applications (id, listing_id, organization_id, applicant_id, status, tracker,
  tracker_color, cover_letter, answers, applied_at, changed_at)
SELECT ID(7, i), ID(6, i), ID(2, 1), ID(1, i % 1000 + 11), 'review', '', '', 'Dear Matron ' || i,
  '[]', NOW, NOW
FROM n;

INSERT INTO application_changes (id, application_id, actor, actor_id, from_status, to_status, at)
SELECT ID(8, i), ID(7, i), 'employer', ID(1, 1), 'pending', 'review', NOW
FROM n;

INSERT INTO application_letters (id, application_id, organization_id, sender_id, subject, text,
  sent_at)
SELECT ID(9, i), ID(7, i), ID(2, 1), ID(1, 1), 'Hello', 'x', NOW
FROM n;

INSERT INTO interviews (id, application_id, organization_id, scheduled_at, location, interviewer,
  notes, status, outcome, sequence, created_at, changed_at)
SELECT ID(10, i), ID(7, i), ID(2, 1), SOON, 'Ward 1', 'Dr X', '', 'scheduled', 'pending', 0, NOW,
  NOW
FROM n;

INSERT INTO exports (id, organization_id, user_id, kind, filters, state, rows_done, rows_total,
  created_at, finished_at)
SELECT ID(11, i), ID(2, 1), ID(1, 1), 'jobs', '{}', 'failed', 0, 0, NOW, NOW
FROM n WHERE i <= 10;

INSERT INTO seekers (user_id, preferred_location, employment_types, digest_after, digest_waiting,
  bio, number)
SELECT ID(1, i), 'Leeds', '["full-time"]', NOW, false, 'Bio ' || i, i
FROM n WHERE i BETWEEN 11 AND 1010;

INSERT INTO activities (user_id, event_id, type, action, description, at)
SELECT ID(1, i % 1000 + 11), ID(12, i), 'application', 'applied', 'Applied ' || i, NOW
FROM n;

INSERT INTO notifications (id, user_id, cause, type, message, read, created_at)
SELECT ID(13, i), ID(1, i % 1000 + 11), 'c' || i, 'application', 'News ' || i, false, NOW
FROM n;

INSERT INTO bookmarks (id, user_id, listing_id, notes, saved_at, deadline_told)
SELECT ID(14, i), ID(1, i % 1000 + 11), ID(6, i), 'Note ' || i, NOW, false
FROM n;

INSERT INTO dismissals (user_id, listing_id, dismissed_at)
SELECT ID(1, i % 1000 + 11), ID(6, i), NOW
FROM n;

INSERT INTO saved_searches (id, user_id, name, query, location, contract_type, email_alerts,
  created_at, resolved_query)
SELECT ID(15, i), ID(1, i % 1000 + 11), 'Search ' || i, 'midwife', '', '', false, NOW, ''
FROM n;

INSERT INTO search_matches (search_id, listing_id, user_id, matched_at, email)
SELECT ID(15, i), ID(6, i), ID(1, i % 1000 + 11), NOW, false
FROM n;

INSERT INTO alert_listings (listing_id, claimed_until)
SELECT ID(6, i), SOON
FROM n WHERE i <= 10;

INSERT INTO document_files (id, user_id)
SELECT ID(16, i), ID(1, i)
FROM n WHERE i BETWEEN 11 AND 1010;

INSERT INTO documents (id, user_id, type, title, file_name, is_default, file_id, size, form,
  media_type, uploaded_at, updated_at)
SELECT ID(17, i), ID(1, i), 'cv', 'CV ' || i, 'cv.txt', true, ID(16, i), 3, 'text', 'text/plain',
  NOW, NOW
FROM n WHERE i BETWEEN 11 AND 1010;

INSERT INTO onboardings (visitor_kind, visitor, email, source, preferences, steps, touched_at,
  version)
SELECT 'guest', 'g' || i, '', '', '{}', '{}', NOW, 1
FROM n WHERE i <= 10;

INSERT INTO subscriptions (owner_kind, owner_id, plan, status, auto_renew, anchor_at, expires_at,
  failures, method_id, method_brand, method_last4, method_expiry_month, method_expiry_year, version)
SELECT 'user', ID(1, i), 'premium', 'active', false, NOW, SOON, 0, 'pm_card_visa', 'visa', '4242',
  12, 2030, 1
FROM n WHERE i BETWEEN 11 AND 1010;

INSERT INTO charges (id, owner_kind, owner_id, plan, amount_minor, currency, method_id,
  method_brand, method_last4, method_expiry_month, method_expiry_year, renewal, period_start,
  period_end, status, receipt, created_at, attempts, next_at)
SELECT ID(18, i), 'user', ID(1, i), 'premium', 999, 'GBP', 'pm_card_visa', 'visa', '4242', 12, 2030,
  false, NOW, SOON, 'paid', 'x', NOW, 1, NOW
FROM n WHERE i BETWEEN 11 AND 1010;

INSERT INTO apps (id, owner_id, name, description, public, secret_hash, plan, redirect_uris,
  created_at, updated_at, version)
SELECT ID(19, i), ID(1, CASE i WHEN 1 THEN 2 ELSE i + 10 END), 'App ' || i, '', false, 'h', 'free',
  '[]', NOW, NOW, 1
FROM n WHERE i <= 1000;

INSERT INTO api_keys (id, app_id, name, prefix, hash, created_at)
SELECT ID(20, i), ID(19, i), 'k', 'loc_live_x', 'h' || i, NOW
FROM n WHERE i <= 1000;

INSERT INTO app_usage (app_id, day, requests, errors)
SELECT ID(19, i), '2026-11-20', i, 1
FROM n WHERE i <= 1000;

INSERT INTO oauth_consents (user_id, app_id, scopes, given_at)
SELECT ID(1, i % 1000 + 11), ID(19, 1), 'applications:read', NOW
FROM n WHERE i <= 1000;

INSERT INTO oauth_grants (id, app_id, user_id, scopes, created_at, expires_at)
SELECT ID(21, i), ID(19, 1), ID(1, i % 1000 + 11), 'applications:read', NOW, SOON
FROM n;

INSERT INTO oauth_tokens (hash, grant_id, kind, scopes, redirect_uri, challenge, issued_at,
  expires_at)
SELECT CASE i WHEN 1 THEN 'TOKEN' ELSE 'h' || i END, ID(21, i), 'access', 'applications:read', '',
  '', NOW, SOON
FROM n;

INSERT INTO webhook_endpoints (id, app_id, owner_id, url, events, status, secret, previous_secret,
  created_at, updated_at, version)
SELECT ID(22, i), ID(19, (i + 9) / 10), ID(1, CASE WHEN i <= 10 THEN 2 ELSE (i + 9) / 10 + 10 END),
  CASE i WHEN 1 THEN 'RECEIVER' ELSE 'https://hooks.example/' || i END, '["job.created"]',
  CASE i WHEN 1 THEN 'active' ELSE 'paused' END, CASE i WHEN 1 THEN 'SECRET' ELSE 'x' END, '', NOW,
  NOW, 1
FROM n;

INSERT INTO webhook_subscriptions (type, endpoint_id)
SELECT 'job.created', ID(22, i)
FROM n;

INSERT INTO webhook_messages (event_id, type, body, created_at)
SELECT ID(23, i), 'job.created',
  '{"type":"job.created","timestamp":"2026-11-20T10:00:00Z","data":{"job_id":"' || UUID(6, i) || '"}}',
  NOW
FROM n;

INSERT INTO webhook_deliveries (id, endpoint_id, owner_id, event_id, type, status, attempt, tries,
  attempts, next_at, created_at)
SELECT ID(24, i), ID(22, i), ID(1, CASE WHEN i <= 10 THEN 2 ELSE (i + 9) / 10 + 10 END), ID(23, i),
  'job.created', CASE i WHEN 1 THEN 'pending' ELSE 'succeeded' END, CASE i WHEN 1 THEN 0 ELSE 1 END,
  CASE i WHEN 1 THEN 0 ELSE 1 END,
  CASE i WHEN 1 THEN '[]' ELSE '[{"at":"2026-11-20T10:00:00Z","status":200,"error":"","ms":3,"answer":"thanks"}]' END,
  CASE i WHEN 1 THEN TIME(NOW) END, NOW
FROM n;

INSERT INTO webhook_deliveries (id, endpoint_id, owner_id, event_id, type, status, attempt, tries,
  attempts, created_at)
SELECT ID(25, i), ID(22, 1), ID(1, 2), ID(23, i), 'job.created', 'succeeded', 1, 1,
  '[{"at":"2026-11-20T10:00:00Z","status":200,"error":"","ms":3,"answer":"thanks"}]', NOW
FROM n WHERE i BETWEEN 2 AND 50;

INSERT INTO outbox (id, type, subject, payload, recorded_at, attempts, sent_at)
SELECT ID(26, i), 'job.created', 'x', '{}', NOW, 1, NOW
FROM n WHERE i > 1;

INSERT INTO outbox (id, type, subject, payload, recorded_at)
SELECT ID(26, 1), 'user.registered', UUID(1, 4), '{"user_id":"' || UUID(1, 4) || '"}', NOW
FROM n WHERE i = 1;

INSERT INTO jobs (id, key, kind, class, payload, trace, state, attempts, hand_outs, run_at, due_at,
  error, created_at, ended_at)
SELECT ID(27, i), 'j' || i, 'identity.verify-email', 'mail', '{}', '', 'done', 1, 1, NOW, NOW, '',
  NOW, NOW
FROM n;

INSERT INTO jobs (id, key, kind, class, payload, trace, state, attempts, hand_outs, run_at, due_at,
  error, created_at)
SELECT ID(28, 1), 'whd:1', 'integrations.deliver', 'webhooks',
  '{"endpoint":"' || UUID(22, 1) || '","at":"2026-11-20T10:00:00Z"}', '', 'waiting', 0, 0, NOW, NOW,
  '', NOW
FROM n WHERE i = 1;
