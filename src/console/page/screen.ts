// A screen of the console, as it registers itself.
import type { ComponentType } from 'preact'
import type { IconName } from './parts/icon.tsx'

/** Properties of every screen. */
export interface ScreenProps {
  /** The selected project. */
  readonly projectId: string
  /** Parameters of the address. */
  readonly parameters: URLSearchParams
}

/** A screen in the navigation. */
export interface Screen {
  /** The first part of its address. */
  readonly id: string
  readonly title: string
  readonly icon: IconName
  /** True: it also works without a project; `projectId` is then empty. */
  readonly withoutProject?: boolean
  load(): Promise<{ readonly default: ComponentType<ScreenProps> }>
}
