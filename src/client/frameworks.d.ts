// The members of the types of web frameworks that the middleware names. The frameworks are packages of the application, and none of this
// repository: the published declarations import them by name, and test/clients/frameworks.test.ts compiles all examples with them.
declare module 'express' {
  import type { IncomingMessage } from 'node:http'

  export interface Request<P> extends IncomingMessage {
    params: P
    query: Record<string, string>
  }
}

declare module 'fastify' {
  export interface FastifyRequest {
    params: unknown
  }
}

declare module 'hono' {
  export interface Env {
    Bindings?: object
    Variables?: object
  }
  export interface Context<E extends Env = Env, P extends string = string> {
    readonly env: E['Bindings']
    readonly req: { readonly routePath: P; param(name: string): string; query(): Record<string, string> }
    body(data: string, status: 401 | 403 | 503, headers: Record<string, string>): Response
    json(body: object): Response
  }
}
