-- 20,000 rows for each table. The test replaces ID by the id of the row number seq, and OWNER by
-- the id of an owner of 20 rows. One row in 1,000 is work that is not done yet.

INSERT INTO users (id, email, email_key, name, kind, status, password_hash, created_at, updated_at,
  version)
SELECT ID, seq, seq, '', 'jobseeker', 'active', '', NOW(), NOW(), 1
FROM seq_1_to_20000;

INSERT INTO sessions (id, user_id, address, user_agent, created_at, last_used_at, expires_at)
SELECT ID, OWNER, '', '', NOW(), NOW(), NOW() + INTERVAL seq MINUTE
FROM seq_1_to_20000;

INSERT INTO refresh_tokens (hash, session_id, issued_at, expires_at)
SELECT seq, ID, NOW(), NOW() + INTERVAL seq MINUTE
FROM seq_1_to_20000;

INSERT INTO organizations (id, name, description, website, logo, industry, size, created_at,
  updated_at, version)
SELECT ID, '', '', '', '', '', '', NOW(), NOW(), 1
FROM seq_1_to_20000;

INSERT INTO memberships (organization_id, user_id, id, role, permissions, founder, status,
  invited_name, invited_email, created_at, updated_at, version)
SELECT OWNER, ID, ID, 'admin', '', 0, 'active', '', '', NOW(), NOW(), 1
FROM seq_1_to_20000;

INSERT INTO listings (id, organization_id, open, remote, posted_at, application_deadline,
  created_at, updated_at, version, contract_type, employment_type, country, nation, region, city,
  place_kind, status, salary_currency, salary_period, specialty, title, company, department,
  location, description, requirements, benefits, questions, meta)
SELECT ID, OWNER, seq % 1000 = 0, 0, NOW(), NOW() - INTERVAL seq MINUTE, NOW(), NOW(), 1, '', '',
  '', '', '', '', '', 'active', '', '', '', '', '', '', '', '', '[]', '[]', '[]', '{}'
FROM seq_1_to_20000;

INSERT INTO listing_changes (xid, listing_id, changed_at)
SELECT seq, ID, NOW()
FROM seq_1_to_20000;

INSERT INTO applications (id, listing_id, organization_id, applicant_id, status, tracker,
  tracker_color, cover_letter, answers, applied_at, changed_at)
SELECT ID, ID, OWNER, OWNER, 'pending', '', '', '', '[]', NOW(), NOW()
FROM seq_1_to_20000;

INSERT INTO seekers (user_id, preferred_location, employment_types, digest_after, digest_waiting)
SELECT ID, '', '[]', NOW(), seq % 1000 = 0
FROM seq_1_to_20000;

INSERT INTO notifications (id, user_id, cause, type, message, `read`, created_at)
SELECT ID, OWNER, seq, 'message', '', 0, NOW()
FROM seq_1_to_20000;

INSERT INTO bookmarks (id, user_id, listing_id, notes, saved_at, deadline_told)
SELECT ID, ID, OWNER, '', NOW(), 0
FROM seq_1_to_20000;

INSERT INTO saved_searches (id, user_id, name, query, location, contract_type, email_alerts,
  created_at, resolved_query)
SELECT ID, OWNER, '', 'nurse', '', '', 1, NOW(), IF(seq % 1000 = 0, '', 'nurse')
FROM seq_1_to_20000;

INSERT INTO apps (id, owner_id, name, description, public, secret_hash, plan, redirect_uris,
  created_at, updated_at, version)
SELECT ID, OWNER, '', '', 0, '', '', '[]', NOW(), NOW(), 1
FROM seq_1_to_20000;

INSERT INTO api_keys (id, app_id, name, prefix, hash, created_at)
SELECT ID, OWNER, '', '', seq, NOW()
FROM seq_1_to_20000;

INSERT INTO webhook_endpoints (id, app_id, owner_id, url, events, status, secret, previous_secret,
  created_at, updated_at, version)
SELECT ID, OWNER, OWNER, '', '[]', 'active', '', '', NOW(), NOW(), 1
FROM seq_1_to_20000;

INSERT INTO webhook_messages (event_id, type, body, created_at)
SELECT ID, 't', '{}', NOW()
FROM seq_1_to_20000;

INSERT INTO webhook_deliveries (id, endpoint_id, owner_id, event_id, type, status, attempt, tries,
  attempts, next_at, created_at)
SELECT ID, OWNER, OWNER, ID, 't', IF(seq % 1000 = 0, 'pending', 'succeeded'), 1, 1, '[]', NOW(),
  NOW()
FROM seq_1_to_20000;

INSERT INTO tasks (id, `key`, kind, class, payload, trace, state, attempts, hand_outs, run_at,
  due_at, error, created_at, ended_at)
SELECT ID, seq, 'k', 'mail', '{}', '', IF(seq % 1000 = 0, 'waiting', 'done'), 1, 1, NOW(), NOW(),
  '', NOW(), IF(seq % 1000 = 0, NULL, NOW())
FROM seq_1_to_20000;

INSERT INTO outbox (id, type, subject, payload, recorded_at, sent_at)
SELECT ID, 't', seq, '{}', NOW(), IF(seq % 1000 = 0, NULL, NOW())
FROM seq_1_to_20000;
