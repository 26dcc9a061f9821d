-- +goose Up

-- How often a listing was seen. A visitor counts once a day: listing_visits is
-- who has been counted of late, listing_views the sum.
CREATE TABLE listing_views (
    listing_id UUID   NOT NULL PRIMARY KEY,
    views      BIGINT NOT NULL
);

CREATE TABLE listing_visits (
    day        TEXT NOT NULL,
    listing_id UUID NOT NULL,
    visitor    TEXT NOT NULL,
    PRIMARY KEY (day, listing_id, visitor)
);

-- What analytics count.
CREATE INDEX listings_organization_status ON listings (organization_id, status);
CREATE INDEX applications_organization_status ON applications (organization_id, status, applied_at);

-- +goose Down
DROP INDEX applications_organization_status;
DROP INDEX listings_organization_status;
DROP TABLE listing_visits;
DROP TABLE listing_views;
