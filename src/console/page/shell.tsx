// The frame around a screen: navigation, project, theme, sign-out, and the notice of a service that does not answer.
import type { ComponentType } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { address, linkTo } from './address.ts'
import { connection, endSession, type SessionState, version } from './api.ts'
import { Empty, Failure, Loading } from './parts/feedback.tsx'
import { Icon } from './parts/icon.tsx'
import { project, projects, projectTitle, readProjects, selectProject } from './project.ts'
import type { Screen, ScreenProps } from './screen.ts'
import { screens } from './screens.ts'
import { Mark } from './sign-in.tsx'
import { useStore } from './store.ts'
import { chooseTheme, type Theme, theme } from './theme.ts'
import { useData } from './use-data.ts'

/** The console of a signed-in user. */
export function Shell({ session }: { readonly session: SessionState }) {
  const { screen: id, parameters } = useStore(address)
  const { isAway } = useStore(connection)
  const selected = useStore(project)
  const list = useStore(projects)
  const reading = useData(() => readProjects(session), [session.service_account_id])
  const screen = screens.find((one) => one.id === id) ?? (id === '' ? screens[0] : undefined)
  useEffect(() => {
    document.title = `${screen?.title ?? 'Not found'} – Verdigraph console`
  }, [screen])
  return (
    <div class="shell">
      {/* biome-ignore lint/a11y/useValidAnchor: a link to a place of the page, whose address names the screen. */}
      <a class="skip" href="#main" onClick={focusMain}>
        Skip to the content
      </a>
      <header class="side">
        <a class="home" href={linkTo('')} aria-label="Verdigraph console, first screen">
          <Mark />
        </a>
        {list !== null && list.length > 0 && <ProjectSwitcher />}
        <nav aria-label="Screens">
          {screens.map((one) => (
            <a key={one.id} href={linkTo(one.id)} aria-current={one === screen ? 'page' : undefined}>
              <Icon name={one.icon} />
              <span>{one.title}</span>
            </a>
          ))}
        </nav>
        <Account session={session} />
      </header>
      <main id="main" tabIndex={-1}>
        {isAway && (
          <p class="notice is-bad" role="alert">
            <Icon name="warning" />
            <span>The service does not answer. The page tries again by itself.</span>
          </p>
        )}
        {screen === undefined ? (
          <Empty icon="search" title="This screen does not exist">
            <a href={linkTo('')}>Go to the first screen</a>
          </Empty>
        ) : reading.error !== null && list === null ? (
          <Failure error={reading.error} retry={reading.reload} />
        ) : list === null ? (
          <Loading />
        ) : selected === null && screen.withoutProject !== true ? (
          <NoProject />
        ) : (
          <ScreenView
            key={`${screen.id} ${selected?.id}`}
            screen={screen}
            projectId={selected?.id ?? ''}
            parameters={parameters}
          />
        )}
      </main>
    </div>
  )
}

/** The address has the name of the screen, so the link to the content must not change it. */
function focusMain(event: Event): void {
  event.preventDefault()
  document.getElementById('main')?.focus()
}

function NoProject() {
  const hasFirstSteps = screens.some(({ id }) => id === 'first-steps')
  return (
    <Empty icon="graph" title="There is no project yet">
      {hasFirstSteps ? (
        <a class="button primary" href={linkTo('first-steps')}>
          Create the first project
        </a>
      ) : (
        <p>
          Create one with the <a href="/docs">configuration API</a>, or start the demo with <code>npm start</code>.
        </p>
      )}
    </Empty>
  )
}

function ScreenView({ screen, projectId, parameters }: ScreenProps & { readonly screen: Screen }) {
  const [Component, setComponent] = useState<ComponentType<ScreenProps> | null>(null)
  const [error, setError] = useState<Error | null>(null)
  useEffect(() => {
    screen.load().then(({ default: loaded }) => setComponent(() => loaded), setError)
  }, [screen])
  if (error !== null) return <Failure error={new Error('The screen cannot be loaded. Reload the page.')} />
  return Component === null ? <Loading /> : <Component projectId={projectId} parameters={parameters} />
}

function ProjectSwitcher() {
  const list = useStore(projects) ?? []
  const selected = useStore(project)
  return (
    <div class="switcher">
      <label for="project" class="visually-hidden">
        Project
      </label>
      <select id="project" value={selected?.id} onChange={(event) => selectProject(event.currentTarget.value)}>
        {list.map((one) => (
          <option key={one.id} value={one.id}>
            {projectTitle(one)}
          </option>
        ))}
      </select>
    </div>
  )
}

const themes: readonly { readonly id: Theme; readonly label: string; readonly icon: 'system' | 'sun' | 'moon' }[] = [
  { id: 'system', label: 'Colours as the system', icon: 'system' },
  { id: 'light', label: 'Light colours', icon: 'sun' },
  { id: 'dark', label: 'Dark colours', icon: 'moon' },
]

function Account({ session }: { readonly session: SessionState }) {
  const current = useStore(theme)
  const running = useStore(version)
  const [error, setError] = useState<Error | null>(null)
  const group = useRef<HTMLFieldSetElement>(null)
  const name = session.display_name === '' ? 'Service account' : session.display_name
  return (
    <div class="account">
      <fieldset class="themes" ref={group}>
        <legend class="visually-hidden">Colours</legend>
        {themes.map(({ id, label, icon }) => (
          <label key={id} title={label}>
            <input
              type="radio"
              name="theme"
              value={id}
              checked={current === id}
              onChange={() => chooseTheme(id)}
              aria-label={label}
            />
            <Icon name={icon} />
          </label>
        ))}
      </fieldset>
      <div class="who">
        <span>
          <b>{name}</b>
          <small>{session.role === 'all_editor' ? 'Editor' : 'Viewer'}</small>
        </span>
        <button
          type="button"
          class="quiet"
          title="Sign out"
          aria-label="Sign out"
          onClick={() => endSession().catch(setError)}
        >
          <Icon name="out" />
        </button>
      </div>
      {error !== null && <Failure error={error} />}
      <small class="version">
        <a href="/docs" target="_blank" rel="noreferrer">
          Documentation
        </a>{' '}
        · {running}
      </small>
    </div>
  )
}
