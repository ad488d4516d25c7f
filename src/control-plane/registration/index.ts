export { createRegistration, type Registration } from "./registration.ts";
