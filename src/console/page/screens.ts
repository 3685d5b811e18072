// The screens of the console. A screen is one entry here and one folder; its code is loaded when it is first shown.
import type { Screen } from './screen.ts'

/** In the order of the navigation. */
export const screens: readonly Screen[] = [
  { id: 'ask', title: 'Ask', icon: 'ask', load: () => import('./ask/ask-screen.tsx') },
  { id: 'graph', title: 'Graph', icon: 'graph', load: () => import('./graph/graph-screen.tsx') },
  { id: 'policies', title: 'Policies', icon: 'policies', load: () => import('./policies/policies-screen.tsx') },
  {
    id: 'first-steps',
    title: 'First steps',
    icon: 'steps',
    withoutProject: true,
    load: () => import('./first-steps/first-steps-screen.tsx'),
  },
  {
    id: 'operate',
    title: 'Operate',
    icon: 'operate',
    withoutProject: true,
    load: () => import('./operate/operate-screen.tsx'),
  },
  { id: 'log', title: 'Log', icon: 'log', withoutProject: true, load: () => import('./log/log-screen.tsx') },
]
