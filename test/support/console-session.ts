// A browser that is signed in to the console of a service, as a client of HTTP.
import type { TestService } from './service.ts'

/** A session, with the headers that a page of the service would send with a change. */
export interface SignedInBrowser {
  /** Name and value, for the header `Cookie`. */
  readonly cookie: string
  readonly csrfToken: string
  readonly headers: Readonly<Record<string, string>>
}

/** Signs in with a token, or with other credentials. */
export async function signIn(
  service: Pick<TestService, 'url' | 'token'>,
  credential: { readonly link: string } | { readonly token: string } = { token: service.token },
): Promise<SignedInBrowser> {
  const answer = await fetch(`${service.url}/console/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: service.url },
    body: JSON.stringify(credential),
  })
  if (answer.status !== 200) throw new Error(`signing in answered ${answer.status}: ${await answer.text()}`)
  const { session } = (await answer.json()) as { readonly session: { readonly csrf_token: string } }
  const cookie = (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
  const csrfToken = session.csrf_token
  return { cookie, csrfToken, headers: { cookie, origin: service.url, 'x-csrf-token': csrfToken } }
}
