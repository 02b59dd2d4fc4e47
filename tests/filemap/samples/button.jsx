import { memo } from "react";

export const sizes = { small: 1, large: 2 };

function Icon({ name }) {
  return <i className={name} />;
}

export default memo(function Button({ label, onPress }) {
  const press = () => onPress(label);
  return (
    <button onClick={press}>
      <Icon name="star" /> {label}
    </button>
  );
});
