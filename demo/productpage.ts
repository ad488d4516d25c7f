/** The front page of the sample application: details and reviews of a book, as a person sees them. */
import { call, escapeHtml, json, type Reply, serve } from "./lib/server.ts";

const detailsUrl = process.env.DETAILS_URL ?? "http://details:9080";
const reviewsUrl = process.env.REVIEWS_URL ?? "http://reviews:9080";

interface Review {
  readonly reviewer: string;
  readonly text: string;
  readonly rating?: { readonly stars?: number; readonly color?: string; readonly error?: string };
}

serve(async (url, headers) => {
  // As in the original, the user who has logged in travels as a header; here a query parameter logs in.
  const user = url.searchParams.get("u") ?? headers["end-user"];
  const passed =
    typeof user === "string" && user !== "" && user !== "normal" ? { ...headers, "end-user": user } : headers;
  if (url.pathname === "/api/v1/products/0/reviews") return relay(await call(`${reviewsUrl}/reviews/0`, passed));
  if (url.pathname === "/api/v1/products/0") return relay(await call(`${detailsUrl}/details/0`, passed));
  if (url.pathname !== "/productpage" && url.pathname !== "/") return { status: 404, body: "use /productpage\n" };
  const [details, reviews] = await Promise.all([
    call(`${detailsUrl}/details/0`, passed),
    call(`${reviewsUrl}/reviews/0`, passed),
  ]);
  return { type: "text/html; charset=utf-8", body: page(details, reviews, typeof user === "string" ? user : "") };
});

function relay(reply: Reply): { status: number; type: string; body: string } {
  if (reply.status === 0) return json({ error: reply.body }, 502) as { status: number; type: string; body: string };
  return { status: reply.status, type: "application/json", body: reply.body };
}

function page(details: Reply, reviews: Reply, user: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Simple Bookstore App</title>
<style>body{font:16px/1.5 system-ui;max-width:60rem;margin:2rem auto;padding:0 1rem}section{display:inline-block;vertical-align:top;width:45%}.red{color:#c00}.black{color:#000}</style>
</head><body><h1>The Comedy of Errors</h1>${user ? `<p>Signed in as ${escapeHtml(user)}</p>` : ""}
<section><h2>Book Details</h2>${detailsHtml(details)}</section>
<section><h2>Book Reviews</h2>${reviewsHtml(reviews)}</section></body></html>
`;
}

function detailsHtml(reply: Reply): string {
  if (reply.status !== 200) return `<p>Error fetching product details! (${reply.status} ${escapeHtml(reply.body)})</p>`;
  const book: Record<string, unknown> = JSON.parse(reply.body);
  const rows = Object.entries(book).map(
    ([key, value]) => `<dt>${escapeHtml(key)}</dt><dd>${escapeHtml(String(value))}</dd>`,
  );
  return `<dl>${rows.join("")}</dl>`;
}

function reviewsHtml(reply: Reply): string {
  if (reply.status !== 200) return `<p>Error fetching product reviews! (${reply.status} ${escapeHtml(reply.body)})</p>`;
  const { version, podname, reviews }: { version: string; podname: string; reviews: readonly Review[] } = JSON.parse(
    reply.body,
  );
  const items = reviews.map(
    (review) =>
      `<blockquote><p>${escapeHtml(review.text)}</p><footer>${escapeHtml(review.reviewer)}${starsHtml(review)}</footer></blockquote>`,
  );
  return `${items.join("")}<p>Reviews served by: ${escapeHtml(podname)} (${escapeHtml(version)})</p>`;
}

function starsHtml({ rating }: Review): string {
  if (!rating) return "";
  if (rating.error !== undefined) return `<p>${escapeHtml(rating.error)}</p>`;
  const color = rating.color === "red" ? "red" : "black";
  return ` <span class="${color}">${"★".repeat(Math.min(5, rating.stars ?? 0))}</span>`;
}
