// SPDX-License-Identifier: Apache-2.0
// Switches between the light theme, the dark theme and the theme of the system.
import * as React from 'react';

const THEMES = ['auto', 'light', 'dark'] as const;

/** Returns the current theme, and a function that switches to the next theme. */
export function useTheme(): [string, () => void] {
  const [theme, setTheme] = React.useState(0);
  React.useEffect(() => { document.documentElement.dataset.theme = THEMES[theme]; }, [theme]);
  return [THEMES[theme], () => setTheme((theme + 1) % THEMES.length)];
}
