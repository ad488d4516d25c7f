/** The details service of the sample application: what a book is. */
import { json, serve } from "./lib/server.ts";

serve((url) => {
  const match = /^\/details\/(\d+)$/.exec(url.pathname);
  if (!match) return json({ error: "use /details/ID" }, 404);
  return json({
    id: Number(match[1]),
    title: "The Comedy of Errors",
    author: "William Shakespeare",
    year: 1595,
    type: "paperback",
    pages: 200,
    publisher: "PublisherA",
    language: "English",
    "ISBN-10": "1234567890",
    "ISBN-13": "123-1234567890",
  });
});
