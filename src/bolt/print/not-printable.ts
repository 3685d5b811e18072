// The reason why a query is executed by the engine and not by the server.

/** Thrown while a query is printed; only `printQuery` catches it. The message is the reason. */
export class NotPrintable extends Error {}
