// The handbook's members: one row each, with a largeish profile (60 properties, groups, roles,
// history).
#pragma once

inline constexpr const char* kMemberTable =
    "CREATE TABLE member(id INTEGER PRIMARY KEY, login TEXT NOT NULL, profile TEXT NOT NULL)";

/// Sixty-two of them, so that there is something to look at and to measure.
inline constexpr const char* kMembers = R"sql(
WITH RECURSIVE
  n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 62),
  p(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM p WHERE k < 60),
  h(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM h WHERE k < 12)
INSERT INTO member(id, login, profile)
SELECT i, 'member' || i || '@example.org', json_object(
  'fullname', 'Member ' || i,
  'active', json(CASE WHEN i % 7 THEN 'true' ELSE 'false' END),
  'score', i / 4.0,
  'roles', json_array('Member', 'Reader', CASE WHEN i % 5 THEN 'Writer' ELSE 'Reviewer' END),
  'groups', (SELECT json_group_array(json_object('id', 'group-' || (i + k), 'title', 'Group ' || (i + k))) FROM h WHERE k <= 5),
  'properties', (SELECT json_group_object('property_' || printf('%02d', k),
    'value ' || k || ' of member ' || i || ', long enough to be worth keeping in a cache for a while') FROM p),
  'history', (SELECT json_group_array(json_object('when', printf('2025-%02d-%02d', k, 1 + (i * k) % 28),
    'what', 'Changed page ' || (i * k))) FROM h))
FROM n
)sql";
