// The page of the console: signs in with the link of the address, then shows the screens.
import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import './style.css'
import { takeLinkSecret } from './address.ts'
import { openSession, readSession, signIn } from './api.ts'
import { Loading } from './parts/feedback.tsx'
import { Shell } from './shell.tsx'
import { SignInPage } from './sign-in.tsx'
import { useStore } from './store.ts'
import './theme.ts'

/** Taken before anything else can change the address. */
let firstLink = takeLinkSecret()

function Console() {
  const state = useStore(signIn)
  const [failure, setFailure] = useState<Error | null>(null)
  useEffect(() => {
    const begin = async (): Promise<void> => {
      const link = firstLink ?? takeLinkSecret()
      firstLink = null
      if (link === null) return readSession()
      await openSession({ link }).catch(async (refused: Error) => {
        setFailure(refused)
        await readSession()
      })
    }
    const onHash = (): void => void (location.hash.startsWith('#link=') && begin())
    void begin()
    // The user opens another link in this tab.
    addEventListener('hashchange', onHash)
    return () => removeEventListener('hashchange', onHash)
  }, [])
  switch (state.kind) {
    case 'loading':
      return (
        <main class="sign-in">
          <Loading />
        </main>
      )
    case 'signed-out':
      return <SignInPage key={failure?.message} reason={state.reason} failure={failure} />
    case 'signed-in':
      return <Shell session={state.session} />
  }
}

const root = document.getElementById('console')
if (root !== null) render(<Console />, root)
