import React, { useState } from "react";

type Props = { title: string; onClose?: () => void };

export const Panel: React.FC<Props> = ({ title }) => {
  const [open, setOpen] = useState(false);
  const toggle = () => setOpen(!open);
  return <div onClick={toggle}>{title}</div>;
};

export class Clock extends React.Component<Props> {
  render() {
    return <time>{Date.now()}</time>;
  }
}

function useTicker(every: number): number {
  return every;
}
