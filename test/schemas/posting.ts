import type { JobPosting, WithContext } from "schema-dts";

/** A job posting of schema.org. */
export type SchemaPosting = WithContext<JobPosting>;

/** A time in UTC, as in RFC 3339. */
type Time = `${number}-${number}-${number}T${number}:${number}:${number}Z`;

/**
 * The properties that Google requires, or recommends if the job has them:
 * https://developers.google.com/search/docs/appearance/structured-data/job-posting
 */
export type GooglePosting = {
  "@context": "https://schema.org";
  "@type": "JobPosting";
  title: string;
  description: string;
  datePosted: Time;
  validThrough?: Time;
  url: string;
  directApply: boolean;
  identifier: { "@type": "PropertyValue"; name: string; value: string };
  hiringOrganization: { "@type": "Organization"; name: string };
  employmentType?: ("FULL_TIME" | "PART_TIME" | "CONTRACTOR" | "TEMPORARY" | "PER_DIEM" | "OTHER")[];
  baseSalary?: {
    "@type": "MonetaryAmount";
    currency: string;
    value: {
      "@type": "QuantitativeValue";
      minValue?: number;
      maxValue?: number;
      unitText: "HOUR" | "DAY" | "WEEK" | "MONTH" | "YEAR";
    };
  };
} & (
  | { jobLocation: Place; jobLocationType?: never }
  | { jobLocation?: Place; jobLocationType: "TELECOMMUTE"; applicantLocationRequirements: { "@type": "Country"; name: string } }
);

type Place = {
  "@type": "Place";
  address: { "@type": "PostalAddress"; addressCountry?: string; addressRegion?: string; addressLocality?: string };
};
