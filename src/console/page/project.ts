// The projects of the organization, and the one that the tab shows.
import { call, type SessionState } from './api.ts'
import { Store } from './store.ts'

/** A project, as the configuration lists it. */
export interface ListedProject {
  readonly id: string
  readonly name: string
  readonly display_name: string
  readonly ikg_status: string
}

/** Null: not read yet. */
export const projects = new Store<readonly ListedProject[] | null>(null)
/** The selected project; null: the organization has no project. */
export const project = new Store<ListedProject | null>(null)

/** Each tab has a selection of its own; a new tab begins with the last one. */
const STORED = 'verdigraph-project'

/** Reads the list, and keeps the selection if it still exists. Rejects as `call` does. */
export async function readProjects({ organization_id }: Pick<SessionState, 'organization_id'>): Promise<void> {
  const path = `/configs/v1/projects?organization_id=${encodeURIComponent(organization_id)}`
  const { data } = await call<{ readonly data: readonly ListedProject[] }>('GET', path)
  const wanted = project.value?.id ?? sessionStorage.getItem(STORED) ?? localStorage.getItem(STORED)
  project.set(data.find(({ id }) => id === wanted) ?? data[0] ?? null)
  projects.set(data)
}

/** Selects a project. */
export function selectProject(id: string): void {
  const found = projects.value?.find((one) => one.id === id) ?? null
  if (found === null) return
  sessionStorage.setItem(STORED, id)
  localStorage.setItem(STORED, id)
  project.set(found)
}

/** The name to show. */
export function projectTitle({ display_name, name }: ListedProject): string {
  return display_name === '' ? name : display_name
}
