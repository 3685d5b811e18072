// The page of a browser that is not signed in.
import { useState } from 'preact/hooks'
import { openSession } from './api.ts'
import { Failure } from './parts/feedback.tsx'

/** `reason`: why the user sees this page; null: it is the first visit. `failure`: of a one-time link. */
export function SignInPage({ reason, failure }: { readonly reason: string | null; readonly failure: Error | null }) {
  const [token, setToken] = useState('')
  const [error, setError] = useState<Error | null>(failure)
  const [isBusy, setBusy] = useState(false)
  const submit = (event: Event): void => {
    event.preventDefault()
    setBusy(true)
    openSession({ token: token.trim() }).catch((refused: Error) => {
      setError(refused)
      setBusy(false)
    })
  }
  return (
    <main class="sign-in" id="main">
      <div class="card">
        <Mark />
        <h1>Sign in to the console</h1>
        {reason !== null && (
          <p class="notice" role="status">
            {reason}
          </p>
        )}
        {error !== null && <Failure error={error} />}
        <p>Open a one-time link. This command prints one; it works once and for two minutes:</p>
        <pre class="command">
          <code>verdigraph console-link</code>
        </pre>
        <div class="or" aria-hidden="true">
          or
        </div>
        <form onSubmit={submit}>
          <div class="field">
            <label for="token">Token of a service account</label>
            <textarea
              id="token"
              rows={3}
              autocomplete="off"
              spellcheck={false}
              required
              value={token}
              onInput={(event) => setToken(event.currentTarget.value)}
            />
          </div>
          <button type="submit" class="primary" disabled={isBusy || token.trim() === ''}>
            Sign in
          </button>
        </form>
      </div>
    </main>
  )
}

/** The sign of the product. */
export function Mark() {
  return (
    <span class="mark">
      <svg viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="8" />
        <path d="M9 10l7 12 7-12" />
      </svg>
      Verdigraph
    </span>
  )
}
