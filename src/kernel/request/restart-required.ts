// The error that ends the attempt to answer a request before it has had any effect: the request is run again from its start.

/**
 * Thrown while a request runs, before it has had any effect. Code that catches failures of one policy, one item or one call
 * must rethrow this error.
 */
export abstract class RestartRequiredError extends Error {}
